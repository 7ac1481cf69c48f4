import Testing

/// The sources after the corrections that diagnostics propose.
@Suite struct CorrectionTests {
  /// The members of an entity's class after a correction.
  private func corrected(_ members: String, by message: String) -> String {
    let (start, end) = ("@Entity final class Track: ManagedObject {\n  ", "\n}")
    let text = ModelMacrosTests.corrected(start + members + end, by: message)
    return String(text.dropFirst(start.count).dropLast(end.count))
  }

  @Test func `a value is removed without the space before it`() {
    #expect(
      corrected("@Attribute(.derived(.now)) var saved: Date? = nil", by: "remove the value")
        == "@Attribute(.derived(.now)) var saved: Date?")
    #expect(
      corrected("@Relationship var album: Album? = nil", by: "remove the value") == "@Relationship var album: Album?")
  }

  @Test func `a type is replaced and the value after it kept`() {
    #expect(corrected("var title: String! = \"\"", by: "replace '!' by '?'") == "var title: String? = \"\"")
    #expect(
      corrected("@Attribute(.codable) var style: Style", by: "make the type optional")
        == "@Attribute(.codable) var style: Style?")
    #expect(
      corrected("var genres: OrderedToMany<Genre>?", by: "remove the optional") == "var genres: OrderedToMany<Genre>")
  }

  @Test func `a type is added to a property whose type follows from its value`() {
    #expect(
      corrected("@Relationship var album = Album()", by: "make the type optional")
        == "@Relationship var album: Album? = Album()")
    #expect(
      corrected("@Relationship var album = Album()", by: "make the type optional, and the relationship required")
        == "@Relationship(required: true) var album: Album? = Album()")
    #expect(
      corrected(
        "@Attribute(.derived(.average(\"tracks.length\"))) var mean = 0", by: "replace the type by 'Double?'")
        == "@Attribute(.derived(.average(\"tracks.length\"))) var mean: Double? = 0")
  }

  @Test(arguments: ["@Attribute", "@Attribute()"])
  func `an option is added to a marker without arguments`(marker: String) {
    #expect(
      corrected("\(marker) var tags: [String]", by: "store the value as a 'Codable' value")
        == "@Attribute(.codable) var tags: [String]")
  }

  @Test func `a relationship becomes required besides its other arguments`() {
    let message = "make the type optional, and the relationship required"
    #expect(
      corrected("@Relationship var album: Album", by: message) == "@Relationship(required: true) var album: Album?")
    #expect(
      corrected("@Relationship(inverse: \\Album.tracks, deleteRule: .cascade) var album: Album", by: message)
        == "@Relationship(inverse: \\Album.tracks, deleteRule: .cascade, required: true) var album: Album?")
    #expect(
      corrected("@Relationship(inverse: nil)\n  var album: Album", by: message)
        == "@Relationship(inverse: nil, required: true)\n  var album: Album?")
  }

  @Test func `a relationship with the argument 'required' is not made required again`() {
    let found = complaints(
      of: "@Entity final class Track: ManagedObject {\n@Relationship(required: false) var album: Album\n}")
    #expect(found.count == 1)
    #expect(found.first?.hasSuffix("without a target. | make the type optional") == true)
  }

  @Test(arguments: ["inverse: nil, required: true", "required: true, inverse: nil", "inverse: nil , required: true"])
  func `an argument is removed with its comma`(arguments: String) {
    #expect(
      corrected("@Relationship(\(arguments)) var genres: ToMany<Genre>", by: "remove the argument 'required'")
        == "@Relationship(inverse: nil) var genres: ToMany<Genre>")
  }

  @Test func `both counts of a to-one relationship are diagnosed`() {
    let found = complaints(
      of: "@Entity final class Track: ManagedObject {\n"
        + "@Relationship(minimumCount: 1, maximumCount: 1) var album: Album?\n}")
    let fixes = found.compactMap { $0.split(separator: "|").last.map { $0.dropFirst() } }
    #expect(fixes == ["remove the argument 'minimumCount'", "remove the argument 'maximumCount'"])
    #expect(
      corrected("@Relationship(maximumCount: 1) var album: Album?", by: "remove the argument 'maximumCount'")
        == "@Relationship var album: Album?")
  }

  @Test func `the second of two inverse key paths is removed`() {
    let first = "@Relationship(inverse: \\Track.remixes) var original: Track?\n  "
    #expect(
      corrected(
        first + "@Relationship(inverse: \\Track.original) var remixes: ToMany<Track>",
        by: "remove the argument 'inverse'") == first + "@Relationship var remixes: ToMany<Track>")
  }

  @Test func `key paths that do not name each other are not diagnosed`() {
    let start =
      "@Entity final class Track: ManagedObject {\n@Relationship(inverse: \\Track.remixes) var original: Track?\n"
    #expect(complaints(of: start + "@Relationship(inverse: \\Track.original) var cover: Track?\n}") == [])
    #expect(complaints(of: start + "@Relationship(inverse: \\Album.original) var remixes: ToMany<Album>\n}") == [])
    let twins = "@Relationship(inverse: \\Track.a) var a: Track?\n@Relationship(inverse: \\Track.b) var b: Track?\n}"
    #expect(complaints(of: start + twins).count == 2)
  }

  @Test func `a private class within a type becomes fileprivate, and one of a file is not diagnosed`() {
    let type = "private final class Track: ManagedObject {\n}"
    #expect(
      ModelMacrosTests.corrected("enum Music {\n@Entity \(type)\n}", by: "replace 'private' by 'fileprivate'")
        == "enum Music {\n@Entity file\(type)\n}")
    #expect(complaints(of: "@Entity \(type)") == [])
  }

  @Test func `a superclass is added before the brace of a class in any form`() {
    #expect(
      ModelMacrosTests.corrected("@Entity\nfinal class Track{\n}", by: "inherit from 'ManagedObject'")
        == "@Entity\nfinal class Track: ManagedObject {\n}")
    #expect(
      ModelMacrosTests.corrected("@Entity\nfinal class Track  {\n}", by: "inherit from 'ManagedObject'")
        == "@Entity\nfinal class Track: ManagedObject  {\n}")
  }

  @Test(arguments: ["required public", "override public", "public"])
  func `an initialiser becomes a convenience initialiser without contradicting modifiers`(modifiers: String) {
    #expect(
      corrected("\(modifiers) init(title: String) {\n  }", by: "declare it as 'convenience'")
        == "convenience public init(title: String) {\n  }")
  }

  @Test func `a constant part with a value is the only diagnostic and becomes a variable`() {
    let source = "@Composite struct Size {\nlet width = 1.0\n}"
    #expect(complaints(of: source).count == 1)
    #expect(
      ModelMacrosTests.corrected(source, by: "replace 'let' by 'var'") == "@Composite struct Size {\nvar width = 1.0\n}"
    )
  }
}
