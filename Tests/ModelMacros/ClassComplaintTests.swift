import Testing

/// Diagnostics of the arguments, the members and the initialisers of classes, and of the parts of composites.
@Suite struct ClassComplaintTests {
  /// The diagnostics of members of an entity's class, the first of which stands in line 2.
  private func complaints(about members: String, in head: String = "final class Track: ManagedObject") -> [String] {
    ModelMacrosTests.complaints(of: "@Entity \(head) {\n\(members)\n}")
  }

  @Test func `an empty name is diagnosed, and no name is the name of the class`() {
    #expect(
      ModelMacrosTests.complaints(of: "@Entity(\"\") final class Track: ManagedObject {\n}") == [
        "1 | The name of the entity is a literal text with at least one character."
      ])
    for arguments in ["nil", "nil, abstract: false", "abstract: false"] {
      let source = "@Entity(\(arguments)) class Track: ManagedObject {\n}"
      #expect(ModelMacrosTests.complaints(of: source) == [])
      let text = expansion(of: source)
      #expect(text.contains("class var entityName: String { \"Track\" }"))
      #expect(text.contains("CoherenceCore.Entity(Track.entityName, class: Track.self) {"))
    }
  }

  @Test func `a protocol alone is no superclass`() {
    #expect(
      complaints(about: "", in: "final class Track: DeclaredEntity") == [
        "1 | The class 'Track' of an entity inherits from 'ManagedObject' or from another entity. "
          + "| inherit from 'ManagedObject'"
      ])
  }

  @Test func `members that the macro writes are diagnosed in every form`() {
    func message(_ name: String) -> String {
      "2 | '@Entity' writes '\(name)' for 'Track'; remove this declaration, or the macro."
    }
    #expect(complaints(about: "struct Properties {}") == [message("Properties")])
    #expect(complaints(about: "class var propertyNames: [AnyKeyPath: String] { [:] }") == [message("propertyNames")])
    #expect(complaints(about: "struct Options {}\nfunc play() {}\nvar made = Date()") == [])
  }

  @Test func `a class without computed values may write initializeDefaults itself`() {
    #expect(complaints(about: "var title = \"\"\noverride func initializeDefaults() {}") == [])
  }

  @Test func `a stored property with the name of a written member is diagnosed once`() {
    #expect(complaints(about: "var entityName = \"\"").count == 1)
  }

  @Test func `lists without key paths are diagnosed`() {
    let index = "3 | '#Index' takes"
    #expect(
      complaints(about: "var title = \"\"\n#Index<Track>([])") == [
        "\(index) lists of key paths: '#Index<Track>([\\.name])'."
      ])
    #expect(
      complaints(about: "var title = \"\"\n#Index<Track>([\"title\", \\Track.[0], \\Track.title])") == [
        "\(index) key paths of stored properties.", "\(index) key paths of stored properties.",
      ])
  }

  @Test func `a list may name the parts of a composite`() {
    #expect(complaints(about: "@Attribute(.composite) var size: Size?\n#Index<Track>([\\.size?.width])") == [])
  }

  @Test func `conditional members that the macro does not read are not diagnosed`() {
    #expect(complaints(about: "#if DEBUG\nstatic var limit = 1\nfunc play() {}\n@Transient var open = 1\n#endif") == [])
  }

  @Test func `every member of nested conditional blocks is diagnosed`() {
    let source =
      "#if DEBUG\n#if A\nvar title = \"\"\n#else\nvar name = \"\"\n#endif\n#Unique<Track>([\\.title])\n#endif"
    let found = complaints(about: source).map { $0.split(separator: " inside")[0] }
    #expect(
      found == [
        "4 | The macro does not see 'title'", "6 | The macro does not see 'name'",
        "8 | The macro does not see '#Unique'",
      ])
  }

  @Test(arguments: [
    ("init(title: String) {}", true), ("init(_ birth: ObjectBirth, note: String) {}", true), ("let code: Int", true),
    ("let code = 1", false), ("static let limit: Int", false), ("convenience init(title: String) {}", false),
    ("required init(_ birth: ObjectBirth) { super.init(birth) }\ninit(title: String) {}", false),
  ])
  func `a class that would not inherit the initialiser of the framework gets one`(member: String, isAdded: Bool) {
    let text = expansion(of: "@Entity final class Track: ManagedObject {\n\(member)\n}")
    #expect(text.contains("required init(_ birth: borrowing CoherenceCore.ObjectBirth)") == isAdded)
  }

  @Test func `an initialiser with further parameters is none of the framework`() {
    #expect(complaints(about: "init(_ birth: ObjectBirth, note: String) {}").count == 1)
    #expect(complaints(about: "required init(_ birth: ObjectBirth) { super.init(birth) }") == [])
  }

  @Test(arguments: ["title: String", "from first: Int, and second: Int"])
  func `an initialiser that decodes nothing leaves a decodable entity diagnosed`(parameters: String) {
    let initializer = "convenience init(\(parameters)) throws { try self.init(context: context) }"
    #expect(complaints(about: initializer, in: "final class Track: ManagedObject, Decodable").count == 1)
  }

  // MARK: Composites

  @Test func `parts of a tuple or without a type are diagnosed`() {
    #expect(
      ModelMacrosTests.complaints(of: "@Composite struct Size {\nvar (width, height) = (1.0, 2.0)\n}") == [
        "2 | The variables of a tuple have no parts of their own; declare them one by one."
      ])
    #expect(
      ModelMacrosTests.complaints(of: "@Composite struct Size {\nvar width = makeWidth()\n}") == [
        "2 | The macro sees the type of 'width' only in an annotation, because its value is no literal and no call of "
          + "an initialiser; write the type after the name. | add a type annotation"
      ])
  }

  @Test func `each conditional part is diagnosed, and no other conditional variable`() {
    func lines(_ members: String) -> [String] {
      ModelMacrosTests.complaints(of: "@Composite struct Size {\nvar width: Double\n#if A\n\(members)\n#endif\n}")
        .map { String($0.prefix(2)) }
    }
    #expect(lines("var depth = 0.0\nvar height = 0.0") == ["4 ", "5 "])
    #expect(lines("#if B\nvar depth = 0.0\n#endif") == ["5 "])
    #expect(lines("var (depth, height) = (0.0, 0.0)") == ["4 "])
    #expect(lines("static let limit = 1.0\nvar area: Double { 1 }") == [])
  }

  @Test(arguments: [
    ("Date", ".init()", 1), ("UUID?", ".init()", 1), ("UUID", "Foundation.UUID()", 1),
    ("UUID", "Foundation.UUID.init()", 1), ("Date", "Date(timeInterval: 1, since: Date.init())", 1),
    ("Date", "Date(timeIntervalSince1970: 0)", 0), ("Int", ".init()", 0), ("Date?", ".now", 1),
    ("Date", "Foundation.Date.now", 1), ("Urgency", ".now", 0), ("Urgency", "Urgency.now", 0),
  ])
  func `only a default that depends on the moment is diagnosed`(type: String, value: String, count: Int) {
    let found = ModelMacrosTests.complaints(of: "@Composite struct Stamp {\nvar made: \(type) = \(value)\n}")
    #expect(found.count { $0.contains("is evaluated once for the model") } == count)
    #expect(found.count == count)
  }
}
