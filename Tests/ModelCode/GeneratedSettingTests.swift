import CoherenceCore
import CoherenceModelCode
import CoherenceModelFiles
import Foundation
import Testing

@Suite("Generated settings")
struct GeneratedSettingTests {
  private func code(_ file: ModelFile) throws -> GeneratedCode {
    try ModelCode(file, source: "Music.xcdatamodeld").generate()
  }

  /// The line with the variable `n` of an entity, and the warnings of the generator.
  private func code(_ attribute: ModelFile.Attribute) throws -> (line: String?, warnings: [String]) {
    let code = try code(ModelFile(name: "Music", entities: [.init("Track", attributes: [attribute])]))
    let lines = code.files[0].text.split(separator: "\n").map(String.init)
    return (lines.first { $0.contains("var n:") }?.trimmingCharacters(in: .whitespaces), code.warnings)
  }

  private func fault(_ file: ModelFile) -> String {
    do {
      _ = try code(file)
      return "no error"
    } catch {
      return "\(error)"
    }
  }

  // MARK: Attributes

  static let variables: [(ModelFile.Attribute, String)] = [
    (.init("n", .string, minimum: "0"), "@Attribute(.minimumLength(0)) var n: String"),
    (.init("n", .uuid, maximum: "1"), "var n: UUID"),
    (.init("n", .url, pattern: "a*"), "@Attribute(.pattern(\"a*\")) var n: URL"),
    (.init("n", .data, pattern: "a*"), "var n: Data"),
    (.init("n", .string, customClassName: "Notes"), "var n: String"),
    (
      .init("n", .int64, userInfo: ["coherence.type": "weakReference", "coherence.entity": "Track"]), "var n: Int64"
    ),
    (
      .init("n", .transformable, maximum: "9"),
      "@Attribute(.maximumLength(9), .transformable(\"NSSecureUnarchiveFromData\")) var n: Data"
    ),
    (
      .init("n", .transformable, transformerName: "T", userInfo: ["coherence.default": "AQI="]),
      "@Attribute(.transformable(\"T\")) var n: Data = Data(base64Encoded: \"AQI=\")!"
    ),
  ]

  @Test(arguments: variables)
  func `a kind decides on the meaning of bounds, defaults and class names`(
    attribute: ModelFile.Attribute, line: String
  ) throws {
    #expect(try code(attribute).line == line)
  }

  @Test func `a transformable attribute has a warning that its variable shows the data`() throws {
    let warnings = try code(.init("n", .transformable, transformerName: "T")).warnings
    #expect(
      warnings == [
        "The transformable attribute 'n' of 'Track' is of the type 'Data': its variable shows the data of the "
          + "transformer."
      ])
  }

  static let decimals: [(String, String)] = [
    ("-0.1234567890123456789", "Decimal(sign: .minus, exponent: -19, significand: 1_234_567_890_123_456_789)"),
    ("12345678901234567890.5", "Decimal(string: \"12345678901234567890.5\")!"),
  ]

  @Test(arguments: decimals)
  func `a decimal number that no literal has exactly is an expression with a warning`(
    text: String, expression: String
  ) throws {
    let code = try code(.init("n", .decimal, default: text))
    let source = try self.code(
      ModelFile(
        name: "Music", entities: [.init("Track", attributes: [.init("n", .decimal, default: text)])])
    ).files[0].text
    #expect(source.contains(expression), "\(source)")
    #expect(code.warnings.count { $0.hasPrefix("The default of 'n' of 'Track' is not a literal.") } == 1)
  }

  @Test func `a derived attribute loses its default and its rules with one warning`() throws {
    #expect(try code(.init("n", .date, derivation: "now()")).warnings == [])
    for attribute in [
      ModelFile.Attribute("n", .string, default: "x", derivation: "canonical:(a)"),
      .init("n", .string, minimum: "1", derivation: "canonical:(a)"),
      .init("n", .string, maximum: "1", derivation: "canonical:(a)"),
      .init("n", .string, pattern: "x", derivation: "canonical:(a)"),
    ] {
      let code = try code(attribute)
      #expect(code.line == "@Attribute(.derived(.canonical(\"a\"))) var n: String?")
      let warning = "The derived attribute 'n' of 'Track' has neither the default nor the rules of the model file."
      #expect(code.warnings == [warning])
    }
  }

  // The model evaluates the expression once, so that it is the default of earlier records too.
  @Test func `a part whose default is an expression has no warning`() throws {
    let file = ModelFile(
      name: "Music", entities: [.init("Track", attributes: [.init("box", .composite, compositeName: "Box")])],
      composites: [.init("Box", parts: [.init("w", .date, default: "0")])])
    #expect(try code(file).warnings == [])
  }

  @Test func `a structure imports Foundation for any of its parts`() throws {
    let (date, number) = (ModelFile.Attribute("d", .date), ModelFile.Attribute("n", .double))
    for parts in [[date, number], [number, date]] {
      let text = try code(ModelFile(name: "Music", composites: [.init("Box", parts: parts)])).files[0].text
      #expect(text.contains("\nimport Foundation\n"))
    }
    let plain = ModelFile(name: "Music", composites: [.init("Box", parts: [number])])
    #expect(try !code(plain).files[0].text.contains("Foundation"))
  }

  // MARK: Entities

  @Test func `a part that the generator reports itself has one warning`() throws {
    let track = ModelFile.Entity(
      "Track",
      attributes: [.init("a", .bool, isTransient: true), .init("b", .string, derivation: "x:(y)")],
      relationships: [.init("r", to: "Track", isTransient: true)],
      fetchedProperties: [.init("f", request: nil)],
      indexes: [.init("i", elements: [.init(property: "b", isAscending: false)])])
    let file = ModelFile(
      name: "Music", entities: [track], fetchRequests: [.init("q", entity: "Track", predicate: "n >")])
    let warnings = try code(file).warnings
    for name in ["'b'", "'r'", "'f'", "'i'", "'q'"] {
      #expect(warnings.count { $0.contains(name) } == 1, "\(name): \(warnings)")
    }
    #expect(warnings.count == 5, "\(warnings)")
  }

  @Test func `an index of another kind than an ordered index is left out with a warning`() throws {
    let index = ModelFile.FetchIndex("place", elements: [.init(property: "n", kind: "RTree")])
    let code = try code(
      ModelFile(name: "Music", entities: [.init("Track", attributes: [.init("n", .double)], indexes: [index])]))
    #expect(!code.files[0].text.contains("#Index"))
    #expect(
      code.warnings == ["The index 'place' of 'Track' is left out: an index is a list of properties."])
  }

  @Test func `an inverse with the same name at another entity is a key path`() throws {
    let file = ModelFile(
      name: "Music",
      entities: [
        .init("Album", relationships: [.init("link", to: "Track", inverse: "link")]),
        .init("Track", relationships: [.init("link", to: "Album", inverse: "link")]),
      ])
    let text = try code(file).files.map(\.text).joined()
    #expect(text.contains("@Relationship(inverse: \\Track.link) var link: Track?"))
    #expect(text.contains("@Relationship var link: Album?"))
  }

  @Test func `two properties of one name are one fault, however often the name is repeated`() {
    let attribute = ModelFile.Attribute("n", .string)
    let file = ModelFile(
      name: "Music",
      entities: [
        .init("Track", attributes: [attribute, attribute], relationships: [.init("n", to: "Track")])
      ])
    let message = fault(file)
    #expect(message.components(separatedBy: "has two properties 'n'").count == 2, "\(message)")
  }

  // MARK: Models

  @Test(arguments: [nil, "1st"] as [String?])
  func `a model without a name that Swift allows is a list with a name of its own`(name: String?) throws {
    let code = try code(ModelFile(name: name, entities: [.init("Track")], versionIdentifier: ""))
    let list = try #require(code.files.last)
    #expect(list.name == "Model.swift" && list.text.contains("enum Model {"))
    let arguments = name.map { "classes: classes, name: \"\($0)\"" } ?? "classes: classes"
    #expect(list.text.contains("try ManagedObjectModel(\(arguments))\n"))
  }

  // MARK: Folders

  @Test func `a build replaces a file without the header, and reports no other file of the folder`() throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("coherence-build-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: url) }
    let model = url.appendingPathComponent("Music.xcdatamodel")
    try ModelFile(entities: [.init("Track")]).write(to: model)
    let sources = url.appendingPathComponent("Sources")
    _ = try ModelCode.write(model: model, intoFile: sources.appendingPathComponent("Old.swift"))
    let file = sources.appendingPathComponent("New.swift")
    try Data("// text\n".utf8).write(to: file)
    let report = try ModelCode.write(model: model, intoFile: file)
    #expect(report.written == ["New.swift"] && report.refused == [] && report.orphaned == [])
    #expect(try String(contentsOf: file, encoding: .utf8).contains("class Track: ManagedObject {"))
  }

  @Test func `a file other than a source is never reported as left over`() throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("coherence-build-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: url) }
    let code = try code(ModelFile(name: "Music", entities: [.init("Track")]))
    _ = try CodeFolder(url).write(code, source: "Music.xcdatamodeld")
    try Data(code.files[0].text.utf8).write(to: url.appendingPathComponent("Track.swift.orig"))
    #expect(try CodeFolder(url).write(code, source: "Music.xcdatamodeld").orphaned == [])
  }
}
