import CoherenceCore
import CoherenceModelCode
import CoherenceModelFiles
import Testing

/// The variables of single properties.
@Suite("Generated variables")
struct GeneratedVariableTests {
  /// The lines between the braces of the class of an entity, and the warnings of the generator.
  private func code(_ entity: ModelFile.Entity, composites: [ModelFile.Composite] = []) throws
    -> (lines: [String], warnings: [String])
  {
    let file = ModelFile(name: "Music", entities: [entity], composites: composites)
    let code = try ModelCode(file, source: "Music.xcdatamodeld").generate()
    let text = try #require(code.files.first { $0.name == "Track.swift" }).text
    let lines = text.split(separator: "\n").map(String.init)
    let start = try #require(lines.firstIndex(of: "final class Track: ManagedObject {"))
    return (Array(lines[(start + 1)...].dropLast()), code.warnings)
  }

  private func code(_ attribute: ModelFile.Attribute, composites: [ModelFile.Composite] = []) throws
    -> (lines: [String], warnings: [String])
  {
    try code(ModelFile.Entity("Track", attributes: [attribute]), composites: composites)
  }

  // MARK: Attributes

  static let literals: [(ModelFile.Attribute, String)] = [
    (.init("n", .int64, default: "1234567"), "var n: Int64 = 1_234_567"),
    (.init("n", .int64, default: "-1234567"), "var n: Int64 = -1_234_567"),
    (.init("n", .int32, default: "123456"), "var n: Int32 = 123456"),
    (.init("n", .int16, default: "3.0"), "var n: Int16 = 3"),
    (.init("n", .int64, optional: true, default: ""), "var n: Int64?"),
    (.init("n", .string, default: ""), "var n: String = \"\""),
    (.init("n", .float, optional: true, default: "1.5"), "var n: Float? = 1.5"),
    (.init("n", .bool, default: "true"), "var n: Bool = true"),
    (.init("n", .decimal, default: "12"), "var n: Decimal = 12"),
    (.init("n", .decimal, default: "-0.5"), "var n: Decimal = -0.5"),
    (.init("n", .data), "var n: Data"),
    (.init("n", .bool, maximum: "1"), "var n: Bool"),
    (.init("n", .int64, minimum: "-1", maximum: "9"), "@Attribute(.minimum(-1), .maximum(9)) var n: Int64"),
    (.init("n", .data, minimum: "2", maximum: "9"), "@Attribute(.minimumLength(2), .maximumLength(9)) var n: Data"),
    (.init("n", .url, optional: true, maximum: "9"), "@Attribute(.maximumLength(9)) var n: URL?"),
  ]

  @Test(arguments: literals)
  func `a default and rules of an attribute have the form of its type`(
    attribute: ModelFile.Attribute, line: String
  ) throws {
    let code = try code(attribute)
    #expect(code.lines == ["  \(line)"])
    #expect(code.warnings.allSatisfy { !$0.contains("literal") }, "\(code.warnings)")
  }

  static let expressions: [(ModelFile.Attribute, String)] = [
    (.init("n", .date, default: "1.5"), "var n: Date = Date(timeIntervalSinceReferenceDate: 1.5)"),
    (.init("n", .data, userInfo: ["coherence.default": "AQI="]), "var n: Data = Data(base64Encoded: \"AQI=\")!"),
    (.init("n", .data, userInfo: ["coherence.default": ""]), "var n: Data = Data(base64Encoded: \"\")!"),
    (
      .init("n", .uuid, default: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"),
      "var n: UUID = UUID(uuidString: \"E621E1F8-C36C-495A-93FC-0C247A3E6E5F\")!"
    ),
    (.init("n", .url, default: "https://example.org"), "var n: URL = URL(string: \"https://example.org\")!"),
  ]

  @Test(arguments: expressions)
  func `a default that is not a literal has a warning`(attribute: ModelFile.Attribute, line: String) throws {
    let code = try code(attribute)
    #expect(code.lines == ["  \(line)"])
    #expect(code.warnings.count { $0.hasPrefix("The default of 'n' of 'Track' is not a literal.") } == 1)
  }

  static let types: [(ModelFile.Attribute, String)] = [
    (
      .init("n", .string, userInfo: ["coherence.type": "weakReference", "coherence.entity": "Track"]),
      "var n: WeakReference<Track>"
    ),
    (
      .init("n", .string, optional: true, userInfo: ["coherence.type": "weakReference"]),
      "var n: WeakReference<ManagedObject>?"
    ),
    (
      .init("n", .string, customClassName: "Notes", userInfo: ["coherence.type": "codable"]),
      "@Attribute(.codable) var n: Notes"
    ),
    (.init("n", .string, derivation: "lowercase:( a )"), "@Attribute(.derived(.lowercase(\"a\"))) var n: String?"),
    (.init("n", .string, derivation: "uppercase:(a)"), "@Attribute(.derived(.uppercase(\"a\"))) var n: String?"),
    (.init("n", .int64, isTransient: true), "@Transient var n: Int64?"),
    (.init("n", .int64, isTransient: true, default: "1"), "@Transient var n: Int64 = 1"),
    (.init("n", .int64, optional: true, isTransient: true, default: "1"), "@Transient var n: Int64? = 1"),
    (.init("n", .transformable, isTransient: true), "@Transient var n: Any?"),
  ]

  @Test(arguments: types)
  func `a setting of an attribute decides on the type of its variable`(
    attribute: ModelFile.Attribute, line: String
  ) throws {
    #expect(try code(attribute).lines == ["  \(line)"])
  }

  @Test func `the default of a weak reference is left out, with a warning`() throws {
    let code = try code(
      .init("n", .string, default: "x-coherence://A/Track/p1", userInfo: ["coherence.type": "weakReference"]))
    #expect(code.lines == ["  var n: WeakReference<ManagedObject>"])
    #expect(code.warnings.contains { $0.hasPrefix("The default of 'n' of 'Track' is left out") }, "\(code.warnings)")
  }

  @Test(arguments: ["canonical:(a", "canonical:(a-b)", "canonical:(", "now()"])
  func `a derivation of texts that no rule has makes an ordinary variable, with a warning`(text: String) throws {
    let code = try code(.init("n", .string, derivation: text))
    #expect(code.lines == ["  var n: String?"])
    #expect(code.warnings.contains { $0.contains("does not derive values by '\(text)'") }, "\(code.warnings)")
  }

  @Test func `an attribute of another type than its derivation is an ordinary variable, with a warning`() throws {
    let derivations: [(ModelFile.AttributeKind, String)] = [
      (.int64, "canonical:(a)"), (.int32, "bs.@count"), (.int64, "bs.n.@avg"), (.string, "now()"),
    ]
    for (kind, text) in derivations {
      let code = try code(.init("n", kind, derivation: text))
      #expect(code.lines.count == 1 && !code.lines[0].contains("derived"), "\(code.lines)")
      #expect(code.warnings.contains { $0.contains("does not derive values by '\(text)'") }, "\(code.warnings)")
    }
  }

  @Test func `the default of a type that the generator does not know is left out, with a warning`() throws {
    let code = try code(
      .init("n", .string, default: "{}", customClassName: "Notes", userInfo: ["coherence.type": "codable"]))
    #expect(code.lines == ["  @Attribute(.codable) var n: Notes"])
    #expect(code.warnings.contains { $0.hasPrefix("The default of 'n' of 'Track' is left out:") })
  }

  @Test(arguments: [(80, 1), (81, 2)])
  func `a default that does not fit into its line stands below`(length: Int, lineCount: Int) throws {
    let text = String(repeating: "x", count: length)
    let lines = try code(.init("n", .string, default: text)).lines
    #expect(lines.count == lineCount && lines.allSatisfy { $0.count <= 100 })
    #expect(lines.joined().hasSuffix(" \"\(text)\"") && lines[0].hasPrefix("  var n: String ="))
  }

  // MARK: Composites

  private func box(_ part: ModelFile.Attribute) throws -> [String] {
    let composite = ModelFile.Composite("Box", parts: [part])
    let code = try code(.init("box", .composite, compositeName: "Box"), composites: [composite])
    #expect(code.lines == ["  @Attribute(.composite) var box: Box"])
    return code.warnings.filter { $0.hasPrefix("The ") && $0.contains("part 'w' of 'Box'") }
  }

  @Test func `a part of a composite has a warning for each setting that structures do not have`() throws {
    #expect(try box(.init("w", .double)) == [])
    for part in [
      ModelFile.Attribute("w", .double, minimum: "1"), .init("w", .double, renamingIdentifier: "v"),
      .init("w", .double, userInfo: ["unit": "m"]),
    ] {
      let warnings = try box(part)
      #expect(warnings.count == 1 && warnings[0].contains("loses its validation, former names and user info"))
    }
    // The default of a part is a default of the model.
    #expect(try box(.init("w", .double, default: "1")) == [])
    let derived = try box(.init("w", .double, derivation: "now()"))
    #expect(derived.count == 1 && derived[0].contains("neither transient nor derived"))
    let transient = try box(.init("w", .double, isTransient: true))
    #expect(transient.count == 1 && transient[0].contains("neither transient nor derived"))
  }

  @Test func `an optional composite has a warning for the defaults of its parts`() throws {
    let parts: [ModelFile.Attribute] = [
      .init("w", .double, default: "1"), .init("w", .data, userInfo: ["coherence.default": "AQI="]),
      .init("w", .double),
    ]
    for (part, count) in zip(parts, [1, 1, 0]) {
      let composites = [ModelFile.Composite("Box", parts: [part])]
      let code = try code(.init("box", .composite, optional: true, compositeName: "Box"), composites: composites)
      #expect(code.lines == ["  @Attribute(.composite) var box: Box?"])
      #expect(code.warnings.filter { $0.contains("'nil' in a new object") }.count == count)
    }
  }

  @Test func `a composite has its former names, and loses its user info with a warning`() throws {
    let attribute = ModelFile.Attribute(
      "box", .composite, optional: true, compositeName: "Box", renamingIdentifier: "crate", userInfo: ["a": "b"])
    let code = try code(attribute, composites: [.init("Box", parts: [.init("w", .double)])])
    #expect(code.lines == ["  @Attribute(.composite, formerNames: [\"crate\"]) var box: Box?"])
    let warning = "The user info of the composite 'box' of 'Track' is left out: composites have none."
    #expect(code.warnings.contains(warning))
  }

  // MARK: Relationships

  static let relationships: [(ModelFile.Relationship, String)] = [
    (.init("r", to: "Track"), "@Relationship var r: Track?"),
    (.init("r", to: "Track", isToMany: true), "var r: ToMany<Track>"),
    (.init("r", to: "Track", maximumCount: 2), "@Relationship(maximumCount: 2) var r: ToMany<Track>"),
    (.init("r", to: "Track", maximumCount: 1), "@Relationship var r: Track?"),
    (
      .init("r", to: "Track", isToMany: true, isOrdered: true, maximumCount: 3),
      "@Relationship(maximumCount: 3) var r: OrderedToMany<Track>"
    ),
    (.init("r", to: "Track", isToMany: true, maximumCount: 0), "var r: ToMany<Track>"),
    (.init("r", to: "Track", isToMany: true, minimumCount: 4), "var r: ToMany<Track>"),
    (
      .init("r", to: "Track", isToMany: true, optional: false),
      "@Relationship(minimumCount: 1) var r: ToMany<Track>"
    ),
    (
      .init("r", to: "Track", isToMany: true, optional: false, minimumCount: 4),
      "@Relationship(minimumCount: 4) var r: ToMany<Track>"
    ),
    (.init("r", to: "Track", inverse: "r"), "@Relationship(inverse: \"r\") var r: Track?"),
    (.init("r", to: "Track", renamingIdentifier: "s"), "@Relationship(formerNames: [\"s\"]) var r: Track?"),
    (.init("r", to: "Track", isToMany: true, isTransient: true), "@Transient var r: [Track] = []"),
  ]

  @Test(arguments: relationships)
  func `a relationship has the arguments that differ from the defaults`(
    relationship: ModelFile.Relationship, line: String
  ) throws {
    #expect(try code(ModelFile.Entity("Track", relationships: [relationship])).lines == ["  \(line)"])
  }

  // MARK: Classes

  @Test func `the class of the program for an entity with subentities can be inherited from`() throws {
    let file = ModelFile(name: "Music", entities: [.init("Release"), .init("Single", parent: "Release")])
    let generator = ModelCode(file, source: "Music.xcdatamodeld", options: CodeOptions(style: .base))
    let files = try generator.generate().files
    func text(_ name: String) -> String { files.first { $0.name == "\(name).swift" }?.text ?? "" }
    #expect(text("Release").contains("\nclass Release: ReleaseBase {"))
    #expect(text("Single").contains("\nfinal class Single: SingleBase {"))
    #expect { try generator.generate(into: "All.swift") } throws: { ErrorCode.invalidModel ~= $0 }
  }
}
