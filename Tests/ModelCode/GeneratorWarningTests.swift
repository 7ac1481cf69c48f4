import CoherenceCore
import CoherenceModelCode
import CoherenceModelFiles
import Testing

@Suite("Warnings and faults of the generator")
struct GeneratorWarningTests {
  private func warnings(of file: ModelFile) throws -> [String] {
    try ModelCode(file, source: "Music.xcdatamodeld").generate().warnings
  }

  private func fault(of file: ModelFile, style: CodeStyle = .class) -> String? {
    do {
      _ = try ModelCode(file, source: "Music.xcdatamodeld", options: CodeOptions(style: style)).generate()
      return nil
    } catch let error as CoherenceError where error.code == .invalidModel {
      return error.message
    } catch {
      return "another error"
    }
  }

  private func file(_ attributes: [ModelFile.Attribute]) -> ModelFile {
    ModelFile(name: "Music", entities: [.init("Track", attributes: attributes)])
  }

  @Test(arguments: [
    "The fetched property 'older' of 'Track' is left out: fetch the records with a request.",
    "The attribute 'count' of 'Track' is an ordinary optional one: the framework does not derive values by "
      + "'release.tracks.@count'.",
    "The derived attribute 'changed' of 'Track' has neither the default nor the rules of the model file.",
    "The transient attribute 'device' of 'Track' is a variable of the type 'Any?': its kind has no Swift type.",
    "The attribute 'odd' of 'Track' is left out: no Swift type represents the kind 'Undefined'.",
    "The attribute 'notes' of 'Track' shows its JSON text: the model file does not name its Swift type.",
    "The attribute 'mood' of 'Track' shows raw values: the model file does not name its enumeration.",
    "The transient relationship 'opened' of 'Track' is an ordinary variable: its inverse is not kept.",
    "The index 'byCode' of 'Track' is ascending: the framework has no descending indexes.",
    "The index 'bySum' of 'Track' is left out: an index is a list of properties.",
    "The configuration 'Local' omits 'Gone', which is not an entity of the model file.",
    "The fetch request 'all' is left out: 'ModelFile.fetchRequest(named:for:)' makes it from the model file.",
  ])
  func `a part that sources cannot express is a warning`(sentence: String) throws {
    #expect(try warnings(of: MusicFile.file).contains(sentence))
  }

  @Test func `a file whose parts all have sources has no warnings`() throws {
    #expect(try warnings(of: file([.init("title", .string), .init("year", .int32, optional: true)])) == [])
  }

  @Test func `a missing parent and a cycle of parents are faults of the entities that cause them`() throws {
    let missing = ModelFile(
      name: "Music", entities: [.init("Album", parent: "Release"), .init("Release", parent: "Gone")])
    #expect(fault(of: missing)?.contains("The parent 'Gone' of 'Release' is not an entity of the model file") == true)
    #expect(fault(of: missing)?.contains("its own ancestor") == false)
    let cycle = ModelFile(
      name: "Music",
      entities: [.init("Album", parent: "Release"), .init("Release", parent: "Item"), .init("Item", parent: "Release")])
    #expect(fault(of: cycle)?.contains("The entity 'Release' is its own ancestor.") == true)
    #expect(fault(of: cycle)?.contains("'Album' is its own ancestor") == false)
  }

  @Test func `a composite needs a name and parts that Swift allows`() throws {
    func fault(of composite: ModelFile.Composite) -> String? {
      let user = ModelFile.Attribute("place", .composite, compositeName: composite.name)
      return self.fault(
        of: ModelFile(name: "Music", entities: [.init("Track", attributes: [user])], composites: [composite]))
    }
    #expect(fault(of: .init("Place", parts: [.init("x", .double)])) == nil)
    #expect(
      fault(of: .init("Place", parts: [.init("x y", .double)]))?
        .contains("'x y' cannot be the name of a variable; rename the part of the composite 'Place'.") == true)
    #expect(
      fault(of: .init("Place", parts: [.init("x", .double), .init("x", .double)]))?
        .contains("The composite 'Place' has two parts 'x'; rename one.") == true)
    #expect(
      fault(of: .init("1st", parts: [.init("x", .double)]))?
        .contains("'1st' cannot be the name of a structure; rename the composite.") == true)
  }

  @Test func `a setting that no source has is a warning of the model file`() throws {
    let attribute = ModelFile.Attribute("title", .string, otherAttributes: ["strange": "YES"])
    #expect(try warnings(of: file([attribute])).count { $0.contains("strange") } == 1)
  }

  @Test(arguments: ["class", "in", "default", "self", "init", "where"])
  func `a keyword as the name of a property gets backticks or is refused`(name: String) throws {
    let file = file([.init(name, .string)])
    if ["self", "init"].contains(name) {
      #expect(fault(of: file)?.contains("'\(name)' cannot be the name of a variable; rename") == true)
    } else {
      let text = try #require(try ModelCode(file, source: "Music.xcdatamodeld").generate().files.first?.text)
      #expect(text.contains("  var `\(name)`: String\n"))
    }
  }

  @Test(arguments: [
    "description", "version", "objectID", "isDeleted", "entity", "entityName", "entityDeclaration", "propertyNames",
    "initializeDefaults", "snapshot",
  ])
  func `the name of a member of managed objects is refused`(name: String) {
    #expect(
      fault(of: file([.init(name, .string)]))
        == "Every managed object has a member '\(name)'; rename '\(name)' of 'Track' in the model file, with the "
        + "present name as its renaming identifier.")
  }

  @Test func `the name of a member of a subentity's snapshots is refused in entities with a parent alone`() {
    let root = ModelFile.Entity("Release", attributes: [.init("inherited", .string)])
    #expect(fault(of: ModelFile(name: "Music", entities: [root])) == nil)
    let single = ModelFile.Entity("Single", parent: "Item", attributes: [.init("inherited", .string)])
    #expect(
      fault(of: ModelFile(name: "Music", entities: [.init("Item"), single]))
        == "Every snapshot of an entity with a parent has a member 'inherited'; rename 'inherited' of 'Single' in the "
        + "model file, with the present name as its renaming identifier.")
  }

  @Test(arguments: ["two words", "1st", "a-b", ""])
  func `a name that no variable can have is refused`(name: String) {
    #expect(fault(of: file([.init(name, .string)]))?.hasPrefix("'\(name)' cannot be the name of a variable;") == true)
  }

  @Test(arguments: [
    ("Date", "would hide the type"), ("Sendable", "would hide the type"), ("Attribute", "would hide the type"),
    ("WeakReference", "would hide the type"), ("Snapshot", "would hide the class"),
    ("Object", "would hide the class"), ("class", "cannot be"),
  ])
  func `a class with the name of a type that sources use or contain is refused`(name: String, reason: String) {
    #expect(fault(of: ModelFile(entities: [.init(name)]))?.contains(reason) == true)
  }

  @Test(arguments: ["self", "init", "_", "class", "Date", "Parts", "Properties"])
  func `a composite with a name that no structure can have is refused`(name: String) {
    let file = ModelFile(
      name: "Music", entities: [.init("Track")], composites: [.init(name, parts: [.init("width", .double)])])
    #expect(fault(of: file)?.contains("'\(name)' cannot be the name of a structure;") == true)
  }

  @Test func `two types that share a file are refused`() {
    let file = ModelFile(entities: [.init("Track"), .init("Piece", className: "track")])
    #expect(fault(of: file)?.hasPrefix("The names 'Track' and 'track' of generated types share a file;") == true)
    let base = ModelFile(entities: [.init("Track"), .init("TrackBase")])
    #expect(fault(of: base) == nil)
    #expect(fault(of: base, style: .base)?.contains("'TrackBase'") == true)
  }

  @Test(arguments: [
    ModelFile.Attribute("year", .int16, default: "40000"), ModelFile.Attribute("year", .int16, default: "many"),
    ModelFile.Attribute("year", .double, minimum: "nan"), ModelFile.Attribute("year", .string, minimum: "-1"),
    ModelFile.Attribute("year", .bool, default: "MAYBE"), ModelFile.Attribute("year", .uuid, default: "1"),
    ModelFile.Attribute("year", .decimal, default: "0x10"),
  ])
  func `a value that does not fit its kind is refused`(attribute: ModelFile.Attribute) {
    let fault = fault(of: file([attribute]))
    #expect(fault?.contains("'year' of 'Track' is no") == true, "\(fault ?? "no fault")")
  }

  @Test func `links that lead nowhere are refused in one error`() {
    let file = ModelFile(
      entities: [
        .init(
          "Track", parent: "Piece", attributes: [.init("size", .composite, compositeName: "Size")],
          relationships: [.init("album", to: "Album")], uniqueness: [["code"]])
      ])
    let fault = fault(of: file) ?? ""
    for name in ["'Piece'", "'Album'", "'code'"] {
      #expect(fault.contains(name), "\(fault)")
    }
    #expect(fault.contains("The composite type of 'size' of 'Track' is not declared in the model file."))
  }

  @Test func `one side of a relationship names the inverse`() throws {
    let code = try ModelCode(MusicFile.file, source: "Music.xcdatamodeld").generate()
    let text = code.files.map(\.text).joined()
    #expect(text.contains("inverse: \\Song.release"))
    #expect(!text.contains("inverse: \\Release.tracks"))
  }

  @Test func `a quotation mark before a combining mark does not end a literal`() throws {
    for (text, literal) in [
      ("a\"\u{301}b", "#\"a\"\u{301}b\"#"), ("a\"#\u{301}b", "##\"a\"#\u{301}b\"##"),
      ("\"\u{301}b", "\"\\\"\u{301}b\""),
    ] {
      let code = try ModelCode(file([.init("title", .string, default: text)]), source: "Music.xcdatamodeld").generate()
      let source = try #require(code.files.first?.text)
      #expect(source.utf8.contains(literal.utf8), "\(source)")
    }
  }

  @Test(arguments: ["a\"b", "a\\(b)", "line\nbreak", "\u{0}", "\"#", "ends with \\", "\"\"x", "ünïcode"])
  func `a hostile text stays inside its literal`(text: String) throws {
    let code = try ModelCode(file([.init("title", .string, default: text)]), source: "Music.xcdatamodeld").generate()
    let source = try #require(code.files.first?.text)
    let lines = source.split(separator: "\n", omittingEmptySubsequences: false)
    let line = try #require(lines.first { $0.contains("title") })
    #expect(line.hasSuffix("\"") || line.hasSuffix("#"), "\(line)")
    #expect(lines.count == 9)
  }
}
