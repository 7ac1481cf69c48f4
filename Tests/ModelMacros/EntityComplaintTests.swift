import Testing

/// Diagnostics of classes, lists and composites. Each expected text has the line, the message and the corrections.
@Suite struct EntityComplaintTests {
  @Test func `a structure as an entity is diagnosed and can become a class`() {
    let source = "@Entity\nstruct Track {\n}"
    #expect(
      complaints(of: source) == [
        "1 | '@Entity' is for classes, because each record has one object in a context; the snapshot of an object is a "
          + "structure with its values, and '@Composite' declares the structure of a composite attribute. "
          + "| replace 'struct' by 'final class'"
      ])
    #expect(
      corrected(source, by: "replace 'struct' by 'final class'") == "@Entity\nfinal class Track {\n}")
  }

  @Test(arguments: ["enum", "actor"])
  func `another declaration than a class is diagnosed`(kind: String) {
    #expect(
      complaints(of: "@Entity \(kind) Track {\n}") == [
        "1 | '@Entity' is for classes, because each record has one object in a context."
      ])
  }

  @Test func `a class without a superclass is diagnosed and can inherit from ManagedObject`() {
    let message = "The class 'Track' of an entity inherits from 'ManagedObject' or from another entity."
    #expect(
      complaints(of: "@Entity\nfinal class Track {\n}") == ["2 | \(message) | inherit from 'ManagedObject'"])
    #expect(
      corrected("@Entity\nfinal class Track {\n}", by: "inherit from 'ManagedObject'")
        == "@Entity\nfinal class Track: ManagedObject {\n}")
    #expect(
      corrected("@Entity\nfinal class Track: Codable {\n}", by: "inherit from 'ManagedObject'")
        == "@Entity\nfinal class Track: ManagedObject, Codable {\n}")
  }

  @Test func `the macro of the other kind of entity is diagnosed and can be replaced`() {
    #expect(
      complaints(of: "@Entity final class Single: Release {\n}") == [
        "1 | 'Single' inherits from 'Release'; '@Subentity' declares the subclasses of entities. "
          + "| replace the macro by '@Subentity'"
      ])
    #expect(
      complaints(of: "@Subentity final class Track: ManagedObject {\n}") == [
        "1 | 'Track' inherits from no other entity; declare it with '@Entity'. | replace the macro by '@Entity'"
      ])
    #expect(
      corrected("@Entity final class Single: Release {\n}", by: "replace the macro by '@Subentity'")
        == "@Subentity final class Single: Release {\n}")
  }

  @Test func `a generic class is diagnosed`() {
    #expect(
      complaints(of: "@Entity final class Box<Content>: ManagedObject {\n}") == [
        "1 | A generic class cannot be an entity, because each entity has one class and one table."
      ])
  }

  @Test(arguments: ["Object", "Properties", "Snapshot"])
  func `a class with the name of a type that the macro writes within it is diagnosed`(name: String) {
    #expect(
      complaints(of: "@Entity final class \(name): ManagedObject {\n}") == [
        "1 | The macro writes a type '\(name)' within the class, which hides the class; choose another name for the "
          + "class, and keep the name of the entity by '@Entity(\"\(name)\")'."
      ])
  }

  @Test func `a private class within a type is diagnosed`() {
    #expect(
      complaints(of: "enum Music {\n@Entity private final class Track: ManagedObject {\n}\n}") == [
        "2 | The extension that the macro writes stands outside of the type around 'Track', where a private class "
          + "is not "
          + "visible; make the class 'fileprivate'. | replace 'private' by 'fileprivate'"
      ])
  }

  @Test func `arguments that the macro cannot read are diagnosed`() {
    #expect(
      complaints(of: "@Entity(name, abstract: flag) class Track: ManagedObject {\n}") == [
        "1 | The name of the entity is a literal text with at least one character.",
        "1 | The argument 'abstract' is 'true' or 'false', because the class is one or the other.",
      ])
  }

  @Test func `a stored property in a conditional block is diagnosed`() {
    #expect(
      complaints(of: "@Entity class Track: ManagedObject {\n#if DEBUG\nvar title: String\n#endif\n}") == [
        "3 | The macro does not see 'title' inside of '#if', and a model must not depend on the build; declare the "
          + "property outside, or mark it '@Transient'."
      ])
  }

  @Test func `a member that the macro writes is diagnosed`() {
    let source = """
      @Entity final class Track: ManagedObject {
        var createdAt = Date()
        static var entityName: String { "Song" }
        override func initializeDefaults() {}
      }
      """
    #expect(
      complaints(of: source) == [
        "3 | '@Entity' writes 'entityName' for 'Track'; remove this declaration, or the macro.",
        "4 | '@Entity' writes 'initializeDefaults' for 'Track'; remove this declaration, or the macro.",
      ])
  }

  @Test func `an unknown property in a list is diagnosed`() {
    let source = """
      @Entity final class Track: ManagedObject {
        var title = ""
        #Index<Track>([\\.name], [\\.title, \\.title])
        #Unique<Track>(names)
      }
      """
    #expect(
      complaints(of: source) == [
        "3 | 'Track' stores no property 'name' that '#Index' could list.",
        "3 | 'title' is twice in the same list; remove one of them.",
        "4 | '#Unique' takes lists of key paths: '#Unique<Track>([\\.name])'.",
      ])
  }

  @Test func `a list may name inherited properties of a subentity`() {
    #expect(
      complaints(of: "@Subentity final class Maxi: Single {\n#Index<Maxi>([\\.name])\n}").isEmpty)
  }

  @Test func `a list of another class is diagnosed`() {
    #expect(
      complaints(of: "@Entity final class Track: ManagedObject {\nvar title = \"\"\n#Index<Album>([\\.title])\n}") == [
        "3 | '#Index' lists properties of 'Track', the class around it."
      ])
  }

  @Test func `a marker outside of an entity is diagnosed`() {
    #expect(
      complaints(of: "struct Track {\n@Attribute(.unique) var title: String\n}") == [
        "2 | '@Attribute' is for variables of a class with '@Entity', which reads the attribute."
      ])
  }

  @Test func `a composite class and a composite without parts are diagnosed`() {
    #expect(
      complaints(of: "@Composite final class Size {\n}") == [
        "1 | '@Composite' is for structures, because the parts of a composite are its stored properties."
      ])
    #expect(
      complaints(of: "@Composite struct Size {\n}") == [
        "1 | A composite has at least one stored property; add the parts of 'Size'."
      ])
  }

  @Test func `a constant of a composite with a value is diagnosed`() {
    #expect(
      complaints(of: "@Composite struct Size {\nlet width = 1.0\nvar height: Double\n}") == [
        "2 | The constant 'width' cannot be read from a store, because it has its value already; make it a "
          + "variable, or "
          + "static. | replace 'let' by 'var'"
      ])
  }

  @Test(arguments: [
    "Date()", "Date.now", "Date(timeInterval: 1, since: .now)", "UUID()", "UUID.init()", "Int.random(in: 1...9)",
  ])
  func `a default of a part that depends on the moment is diagnosed`(value: String) {
    let type = String(value.prefix { $0.isLetter })
    #expect(
      complaints(of: "@Composite struct Stamp {\nvar made: \(type) = \(value)\nvar note: String\n}") == [
        "2 | The default of 'made' is evaluated once for the model, so that all records would share the value; remove "
          + "it, and give each new object a composite in 'initializeDefaults()'."
      ])
  }

  @Test func `a part of a composite inside of a condition of the build is diagnosed`() {
    #expect(
      complaints(of: "@Composite struct Size {\nvar width: Double\n#if DEBUG\nvar depth = 0.0\n#endif\n}") == [
        "4 | The macro does not see properties inside of '#if', and a model must not depend on the build; declare the "
          + "property outside."
      ])
  }

  @Test func `a type with the name of a composite's table is diagnosed`() {
    #expect(
      complaints(of: "@Composite struct Size {\nvar width: Double\nenum Parts {}\n}") == [
        "3 | '@Composite' writes 'Parts' for 'Size'; give this type another name."
      ])
  }

  @Test func `a list inside of a condition of the build is diagnosed`() {
    #expect(
      complaints(
        of: """
          @Entity final class Track: ManagedObject {
            var title = ""
            #if DEBUG
            #Index<Track>([\\.title])
            #endif
          }
          """) == [
          "4 | The macro does not see '#Index' inside of '#if', and a model must not depend on the build; write the "
            + "list outside."
        ])
  }

  @Test func `a named value of a date or a UUID is evaluated for each new object`() {
    let text = expansion(
      of: "@Entity final class Track: ManagedObject { var at: Date = .now; var token: UUID = .random; var a: A = .b }")
    #expect(text.contains("at = .now token = .random }"))
    #expect(text.contains("default: .b as A"))
  }

  @Test func `a designated initialiser is diagnosed and can become a convenience initialiser`() {
    let source = "@Entity final class Track: ManagedObject {\nvar title: String\ninit(title: String) {\n}\n}"
    #expect(
      complaints(of: source) == [
        "3 | An object of 'Track' begins with 'init(context:)', which inserts it into a context; declare this "
          + "initialiser as 'convenience' and 'throws', with a parameter of type 'ManagedObjectContext' for "
          + "'try self.init(context: context)'. | declare it as 'convenience'"
      ])
    #expect(
      corrected(source, by: "declare it as 'convenience'")
        == "@Entity final class Track: ManagedObject {\nvar title: String\nconvenience init(title: String) {\n}\n}")
  }

  @Test func `a convenience initialiser and the initialiser of the framework are not diagnosed`() {
    let source = """
      @Entity final class Track: ManagedObject {
        required init(_ birth: borrowing ObjectBirth) { super.init(birth) }
        convenience init(context: ManagedObjectContext, title: String) throws { try self.init(context: context) }
      }
      """
    #expect(complaints(of: source) == [])
  }

  @Test(arguments: ["Codable", "Encodable", "Swift.Decodable"])
  func `an entity that would encode its objects is diagnosed`(name: String) {
    let last = name.split(separator: ".").last ?? ""
    #expect(
      complaints(of: "@Entity final class Track: ManagedObject, \(name) {\n}") == [
        "1 | An object belongs to a context and is not '\(last)'; its values are: encode 'snapshot()', and insert a "
          + "decoded 'Track.Snapshot' into a context."
      ])
  }

  @Test func `an entity with a handwritten requirement of its coding protocol is not diagnosed`() {
    let encode = "func encode(to encoder: any Encoder) throws {}"
    let decode = "convenience init(from decoder: any Decoder) throws { try self.init(context: decoder.context) }"
    func count(_ name: String, _ members: String...) -> Int {
      let lines = members.joined(separator: "\n")
      return complaints(of: "@Entity final class Track: ManagedObject, \(name) {\n\(lines)\n}").count
    }
    #expect(count("Encodable", encode) == 0 && count("Encodable", decode) == 1)
    #expect(count("Swift.Decodable", decode) == 0 && count("Decodable", encode) == 1)
    #expect(count("Codable", encode, decode) == 0 && count("Codable", decode) == 1)
    // An extension may have the initialiser; the compiler refuses a class without any.
    #expect(count("Codable", encode) == 0)
  }

  @Test func `a class of an actor is diagnosed and can leave the actor`() {
    let source = "@MainActor @Entity final class Track: ManagedObject {\n}"
    #expect(
      complaints(of: source) == [
        "1 | The objects of 'Track' live where their context runs, so that the class belongs to no actor; remove "
          + "'@MainActor'. | remove '@MainActor'"
      ])
    #expect(
      corrected(source, by: "remove '@MainActor'") == "@Entity final class Track: ManagedObject {\n}")
    let comment = "/// A track.\n"
    #expect(
      corrected(comment + source, by: "remove '@MainActor'")
        == comment + "@Entity final class Track: ManagedObject {\n}")
  }
}
