import Testing

/// Diagnostics of the properties of entities. Each expected text has the line, the message and the corrections.
@Suite struct PropertyComplaintTests {
  /// The diagnostics of a member of an entity's class, which stands in line 2.
  private func complaints(about member: String) -> [String] {
    ModelMacrosTests.complaints(of: "@Entity final class Track: ManagedObject {\n  \(member)\n}")
  }

  /// The member after a correction.
  private func corrected(_ member: String, by message: String) -> String {
    let source = "@Entity final class Track: ManagedObject {\n  \(member)\n}"
    return String(ModelMacrosTests.corrected(source, by: message).split(separator: "\n")[1].dropFirst(2))
  }

  @Test func `a constant is diagnosed and can become a variable`() {
    #expect(
      complaints(about: "let title: String") == [
        "2 | The constant 'title' cannot show the values of a record; declare it as a variable. | replace 'let' by "
          + "'var'"
      ])
    #expect(corrected("let title: String", by: "replace 'let' by 'var'") == "var title: String")
  }

  @Test(arguments: ["lazy", "weak", "unowned"])
  func `a modifier of stored variables is diagnosed and the variable can become transient`(modifier: String) {
    let member = "\(modifier) var title: String? = nil"
    #expect(
      complaints(about: member) == [
        "2 | The model cannot store the \(modifier) variable 'title'; mark it '@Transient', or remove '\(modifier)'. "
          + "| mark the variable '@Transient'"
      ])
    #expect(corrected(member, by: "mark the variable '@Transient'") == "@Transient \(member)")
  }

  @Test func `a value without a visible type is diagnosed and can get an annotation`() {
    #expect(
      complaints(about: "var title = makeTitle()") == [
        "2 | The macro sees the type of 'title' only in an annotation, because its value is no literal and no call "
          + "of an "
          + "initialiser; write the type after the name. | add a type annotation"
      ])
    #expect(
      corrected("var title = makeTitle()", by: "add a type annotation") == "var title: <#type#> = makeTitle()")
  }

  @Test func `observers are diagnosed`() {
    #expect(
      complaints(about: "var title = \"\" { didSet { print(title) } }") == [
        "2 | A stored property of an entity has no 'willSet' and 'didSet', because the record changes without the "
          + "variable; remove them from 'title', or mark the variable '@Transient'. | mark the variable '@Transient'"
      ])
  }

  @Test func `a property wrapper is diagnosed`() {
    #expect(
      complaints(about: "@Published var title = \"\"") == [
        "2 | A property wrapper or macro cannot be combined with the accessors of the stored property 'title'; remove "
          + "it, or mark the variable '@Transient', so that the model does not store it. | remove '@Published' "
          + "| mark the variable '@Transient'"
      ])
    #expect(corrected("@Published var title = \"\"", by: "remove '@Published'") == "var title = \"\"")
  }

  @Test(arguments: ["@MainActor", "@DatabaseActor"])
  func `a property of an actor is diagnosed`(actor: String) {
    let member = "\(actor) var title = \"\""
    #expect(
      complaints(about: member) == [
        "2 | The stored property 'title' cannot be isolated to an actor, because its accessors run where the object's "
          + "context runs; remove '\(actor)', or mark the variable '@Transient'. | remove '\(actor)' "
          + "| mark the variable '@Transient'"
      ])
    #expect(corrected(member, by: "remove '\(actor)'") == "var title = \"\"")
    #expect(complaints(about: "@Transient \(member)") == [])
  }

  @Test(arguments: ["@available(*, deprecated, message: \"old\")", "@available(macOS 26, *)"])
  func `a stored property of limited availability is diagnosed, but a computed property is not`(attribute: String) {
    let member = "\(attribute) var title = \"\""
    #expect(
      complaints(about: member) == [
        "2 | The members that the macro writes use the stored property 'title' in every build, so that it has no "
          + "'@available'; declare the property under another name, with 'formerNames' for the stored values, and this "
          + "name as a computed property. | remove '@available' | mark the variable '@Transient'"
      ])
    #expect(corrected(member, by: "remove '@available'") == "var title = \"\"")
    #expect(complaints(about: "\(attribute) var heading: String { \"\" }") == [])
  }

  @Test func `several variables in one declaration are diagnosed`() {
    #expect(
      complaints(about: "var title: String, artist: String") == [
        "2 | The macro writes accessors for one variable a declaration; declare 'title, artist' one by one."
      ])
    #expect(
      complaints(about: "var (title, artist) = (\"\", \"\")") == [
        "2 | The variables of a tuple have no accessors of their own; declare them one by one."
      ])
  }

  @Test func `a tuple as a type is diagnosed`() {
    #expect(
      complaints(about: "var size: (Int, Int)") == [
        "2 | The model has no attributes of the type '(Int, Int)'; declare a structure with '@Composite' or a "
          + "'Codable' "
          + "one, or mark 'size' '@Transient'."
      ])
  }

  @Test func `a list without an option is diagnosed and can become codable or a relationship`() {
    #expect(
      complaints(about: "var tags: [String]") == [
        "2 | A list of values is stored as a 'Codable' value, and a list of objects as 'ToMany' or 'OrderedToMany'; "
          + "mark "
          + "'tags' with '@Attribute(.codable)', or change the type. | store the value as a 'Codable' value "
          + "| replace the type by 'OrderedToMany'"
      ])
    #expect(
      corrected("var tags: [String]", by: "store the value as a 'Codable' value")
        == "@Attribute(.codable) var tags: [String]")
    #expect(
      corrected("@Attribute(.unique) var tags: [String]", by: "store the value as a 'Codable' value")
        == "@Attribute(.codable, .unique) var tags: [String]")
    #expect(
      corrected("var tags: Set<Tag>", by: "replace the type by 'ToMany'") == "var tags: ToMany<Tag>")
    #expect(
      corrected("var tags: [Tag] = []", by: "replace the type by 'OrderedToMany'") == "var tags: OrderedToMany<Tag>")
  }

  @Test func `a codable value without a default is diagnosed`() {
    #expect(
      complaints(about: "@Attribute(.codable) var style: Style") == [
        "2 | The accessor of 'style' needs a value while nothing is stored; give the property a default, or make "
          + "the type "
          + "optional. | make the type optional"
      ])
  }

  @Test func `an implicitly unwrapped type is diagnosed and can become optional`() {
    #expect(
      complaints(about: "var title: String!") == [
        "2 | The key of a property has no implicitly unwrapped type; make 'title' optional. | replace '!' by '?'"
      ])
    #expect(corrected("var title: String!", by: "replace '!' by '?'") == "var title: String?")
  }

  @Test(arguments: ["objectID", "entity", "version", "isDeleted", "Snapshot", "Protocol"])
  func `a name of a member of managed objects is diagnosed`(name: String) {
    #expect(
      complaints(about: "var \(name): String") == [
        "2 | '\(name)' is a member of every managed object; choose another name for the property, and keep the stored "
          + "values with 'formerNames' if the model had the property before."
      ])
  }

  @Test func `a marker on a static or computed property is diagnosed and can be removed`() {
    #expect(
      complaints(about: "@Attribute(.unique) static var limit = 1") == [
        "2 | '@Attribute' is for stored properties, and 'limit' is a static property; remove the attribute. "
          + "| remove '@Attribute'"
      ])
    #expect(
      complaints(about: "@Attribute var heading: String { \"\" }") == [
        "2 | '@Attribute' is for stored properties, and 'heading' is a computed property; remove the attribute. "
          + "| remove '@Attribute'"
      ])
  }

  @Test func `contradicting and repeated markers are diagnosed`() {
    #expect(
      complaints(about: "@Transient @Relationship var album: Album?") == [
        "2 | '@Transient' and '@Relationship' contradict each other at 'album'; remove one of them. "
          + "| remove '@Relationship' | remove '@Transient'"
      ])
    #expect(
      complaints(about: "@Attribute(.unique) @Attribute(.indexed) var title: String") == [
        "2 | '@Attribute' is given twice; keep one with all arguments. | remove '@Attribute'"
      ])
  }

  @Test func `the correction that removes the first of two attributes keeps the comment of the property`() {
    let start = "@Entity final class Track: ManagedObject {\n  var title = \"\"\n\n  /// The album.\n  "
    #expect(
      ModelMacrosTests.corrected(
        start + "@Transient @Relationship var album: Album?\n}", by: "remove '@Transient'")
        == start + "@Relationship var album: Album?\n}")
  }

  @Test func `repeated and contradicting options are diagnosed`() {
    #expect(
      complaints(about: "@Attribute(.unique, .unique) var title: String") == [
        "2 | The option '.unique' is given twice; remove one of them. | remove the option"
      ])
    #expect(
      corrected("@Attribute(.unique, .unique) var title: String", by: "remove the option")
        == "@Attribute(.unique) var title: String")
    #expect(
      complaints(about: "@Attribute(.codable, .composite) var size: Size?") == [
        "2 | The options '.codable' and '.composite' contradict each other, because an attribute is stored in one way; "
          + "remove one of them. | remove the option"
      ])
    #expect(
      complaints(about: "@Attribute(.composite, .unique) var size: Size") == [
        "2 | The options '.composite' and '.unique' contradict each other, because the parts of a composite are "
          + "attributes of their own; remove one of them. | remove the option"
      ])
    #expect(
      complaints(about: "@Attribute(options) var title: String") == [
        "2 | The macro reads options from their text; write the option in place: '@Attribute(.unique)'."
      ])
  }

  @Test func `a derived attribute of another type than its rule's values is diagnosed and can get that type`() {
    #expect(
      complaints(about: "@Attribute(.derived(.count(\"tracks\"))) var tracksNumber: Int16?") == [
        "2 | The rule of the derived attribute 'tracksNumber' has values of type 'Int'; declare the attribute as 'Int?'. "
          + "| replace the type by 'Int?'"
      ])
    #expect(
      corrected("@Attribute(.derived(.average(\"tracks.length\"))) var mean: Int?", by: "replace the type by 'Double?'")
        == "@Attribute(.derived(.average(\"tracks.length\"))) var mean: Double?")
    #expect(complaints(about: "@Attribute(.derived(.sum(\"tracks.length\"))) var length: Double?") == [])
    #expect(complaints(about: "@Attribute(.derived(.path(\"album.title\"))) var albumTitle: String?") == [])
  }

  @Test func `a default of a derived attribute is diagnosed and can be removed`() {
    #expect(
      complaints(about: "@Attribute(.derived(.now)) var saved: Date? = nil") == [
        "2 | The derived attribute 'saved' has no default; remove the value. | remove the value"
      ])
  }
}
