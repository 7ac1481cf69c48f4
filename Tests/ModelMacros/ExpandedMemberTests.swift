import SwiftParser
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacros
import Testing

@testable import CoherenceModelMacrosPlugin

/// The members and extensions of single properties, classes and composites.
@Suite struct ExpandedMemberTests {
  /// Expects texts in the expansion of an entity's class with members.
  private func expect(
    _ parts: [String], of members: String, in head: String = "@Entity final class Track: ManagedObject",
    sourceLocation: Testing.SourceLocation = #_sourceLocation
  ) {
    let text = expansion(of: "\(head) {\n\(members)\n}")
    for part in parts {
      #expect(text.contains(part.withSingleSpaces), "\(part)\nin\n\(text)", sourceLocation: sourceLocation)
    }
  }

  @Test func `the text of a value names the type of the property`() {
    expect(
      [
        "let label = CoherenceCore.AttributeKey<String>(\"label\")",
        "let count = CoherenceCore.AttributeKey<Int>(\"count\")",
        "CoherenceCore.Attribute(\"count\", Int.attributeType, default: -1)",
        "let rise = CoherenceCore.AttributeKey<Double>(\"rise\")",
        "let fall = CoherenceCore.AttributeKey<Double>(\"fall\")",
        "let isOpen = CoherenceCore.AttributeKey<Bool>(\"isOpen\")",
        "key(\"box\", required: (Box2).self)", "key(\"style\", required: (theme.Style).self)",
      ],
      of: """
        var label = "n\\(1)"
        var count = -1
        var rise = +1.5
        var fall = -1.5
        var isOpen = true
        var box = Box2()
        var style = theme.Style()
        """)
  }

  @Test func `a text of several lines is a default in one line`() {
    let quotes = "\"\"\""
    let text = expansion(
      of: "@Entity final class Track: ManagedObject {\n  var note = \(quotes)\n    a\n    b\n    \(quotes)\n}")
    #expect(text.contains("CoherenceCore.Attribute(\"note\", String.attributeType, default: "))
    #expect(!text.contains("default: \(quotes)"))
  }

  @Test(arguments: [("a", "a"), ("a \\\n    b", "a b")])
  func `a text of one line in a literal of several lines is a default in one line`(content: String, text: String) {
    let quotes = "\"\"\""
    expect(
      ["CoherenceCore.Attribute(\"note\", String.attributeType, default: \"\(text)\")"],
      of: "  var note = \(quotes)\n    \(content)\n    \(quotes)")
  }

  @Test func `the default in the key of a codable value names the class in the place of Self`() {
    expect(
      ["let style = CoherenceCore.CodableKey<Style>(\"style\", default: Track.plain)"],
      of: "@Attribute(.codable) var style: Style = Self.plain")
  }

  @Test func `a member of the property's type is a default of the model, and one of another type is evaluated`() {
    expect(
      ["default: Kind.album as Kind", "initializeDefaults() { super.initializeDefaults() other = Elsewhere.album }"],
      of: "var kind: Kind = Kind.album\nvar other: Kind = Elsewhere.album")
  }

  @Test func `the forms of an optional type declare equal attributes`() {
    expect(
      ["first", "second", "third"].map { "CoherenceCore.Attribute(\"\($0)\", Int.attributeType, optional: true)" },
      of: "var first: Int?\nvar second: Optional<Int>\nvar third: (Int)?")
  }

  @Test func `types of the standard library need no resolution`() {
    expect(
      ["Bool", "URL", "Data", "Decimal"].map { "let a\($0) = CoherenceCore.AttributeKey<\($0)?>(\"a\($0)\")" },
      of: ["Bool", "URL", "Data", "Decimal"].map { "var a\($0): \($0)?" }.joined(separator: "\n"))
  }

  @Test func `transformed and derived attributes need no resolution of their types`() {
    expect(
      [
        "let color = CoherenceCore.AttributeKey<Color?>(\"color\")",
        "CoherenceCore.Attribute(\"color\", .transformable(\"T\"), optional: true)",
        "let kind = CoherenceCore.AttributeKey<Kind?>(\"kind\")",
      ],
      of: "@Attribute(.transformable(\"T\")) var color: Color?\n"
        + "@Attribute(.derived(.path(\"album.kind\"))) var kind: Kind?")
  }

  @Test func `a property with a computed value is an attribute`() {
    expect(
      ["static let key = CoherenceModelMacros.PropertyResolution.attributeKey("],
      of: "var origin: Label? = makeLabel()")
  }

  @Test func `the arguments of markers are arguments of the declarations`() {
    expect(
      [
        "CoherenceCore.Attribute(\"title\", String.attributeType, optional: true, userInfo: [\"a\": \"b\"])",
        "CoherenceCore.CompositeAttribute(\"size\", of: Size.self, default: Size(), formerNames: [\"box\"])",
        "CoherenceCore.Relationship(\"album\", toOne: Album.entityName, inverse: \"tracks\", userInfo: [\"a\": \"b\"])",
        "CoherenceCore.Relationship(\"genres\", toMany: Genre.entityName, maximumCount: 3)",
      ],
      of: """
        @Attribute(userInfo: ["a": "b"]) var title: String?
        @Attribute(.composite, formerNames: ["box"]) var size = Size()
        @Relationship(inverse: "tracks", required: false, userInfo: ["a": "b"]) var album: Album?
        @Relationship(maximumCount: 3) var genres: ToMany<Genre>
        """)
  }

  @Test func `the key of a codable value has a default unless the type is optional or a collection`() {
    expect(
      [
        "let tags = CoherenceCore.CodableKey<[String]>(\"tags\")",
        "let style = CoherenceCore.CodableKey<Style?>(\"style\")",
        "CoherenceCore.Attribute(\"tags\", codable: [String].self, default: [\"a\"], validation: [.maximumLength(9)])",
      ],
      of: "@Attribute(.codable, .maximumLength(9)) var tags: [String] = [\"a\"]\n"
        + "@Attribute(.codable) var style: Style? = Style()")
  }

  @Test func `a key is as visible as the getter of its property`() {
    expect(
      ["public let plays = CoherenceCore.AttributeKey<Int>(\"plays\") let rest = CoherenceCore"],
      of: "public private(set) var plays: Int\nprivate(set) var rest: Int",
      in: "@Entity public final class Track: ManagedObject")
  }

  @Test func `classes without properties have no names of their own`() {
    expect(
      ["propertyNames<_Root: Track>(from root: _Root.Type) -> [AnyKeyPath: String] { [:] }"], of: "",
      in: "@Entity class Track: ManagedObject")
    expect(
      ["propertyNames: [AnyKeyPath: String] { Release.propertyNames(from: Single.self) }"], of: "",
      in: "@Subentity final class Single: Release")
  }

  @Test func `a list with optional chaining names the parts`() {
    expect(
      ["indexes: [[\"size.width\"]]", "uniqueness: [[\"size\"]]", "CoherenceCore.DeletionHooks(of: Track.self"],
      of: "@Attribute(.composite) var size: Size?\n#Index<Track>([\\.size?.width])\n#Unique<Track>([\\.size])",
      in: "@usableFromInline @Entity final class Track: ManagedObject")
  }

  @Test func `a class refused as an entity gets no accessors`() {
    #expect(!expansion(of: "@Entity final class Box<Value>: ManagedObject { var title = 1 }").contains("_Stored"))
  }

  @Test func `the conformance of a class of an actor names the actor`() {
    expect(
      ["@MainActor CoherenceCore.DeclaredEntity"], of: "", in: "@MainActor @Entity final class Track: ManagedObject")
  }

  @Test func `a subentity of a subentity hides the inherited snapshot and adds no conformance`() throws {
    let item = Parser.parse(source: "@Subentity final class Maxi: Single {\n}").statements.first?.item
    let type = try #require(item?.as(ClassDeclSyntax.self))
    let marker = try #require(type.marker("Subentity"))
    let conformance: TypeSyntax = "DeclaredSubentity"
    let lists: [[TypeSyntax]] = [[], [conformance]]
    for protocols in lists {
      let context = BasicMacroExpansionContext()
      let members = try EntityMacro.expansion(
        of: marker, providingMembersOf: type, conformingTo: protocols, in: context)
      #expect(members.contains { $0.description.contains("unavailable") } == protocols.isEmpty)
      let extensions = try EntityMacro.expansion(
        of: marker, attachedTo: type, providingExtensionsOf: conformance, conformingTo: protocols, in: context)
      #expect(extensions.isEmpty == protocols.isEmpty)
    }
  }

  // MARK: Composites

  @Test func `the members of a composite of a package are as visible as the composite`() {
    let text = expansion(
      of: "@Composite package struct Size { package var width: Double { didSet {} }\n"
        + "private(set) var height: Double\nvar area: Double { width }\nstatic var limit = 0.0 }")
    let parts = "package struct Parts: CoherenceCore.CompositeParts { package static let table = Parts() "
    let keys = "package let width = CoherenceCore.PartKey<Double>(\"width\") "
    #expect(text.contains(parts + keys + "let height = CoherenceCore.PartKey<Double>(\"height\") }"))
    #expect(text.contains("parts.write(self.width) parts.write(self.height) }"))
  }

  @Test func `the table of a composite in a generic type is computed`() {
    let text = expansion(of: "struct Box<Content> { @Composite struct Size { var width: Double } }")
    #expect(text.contains("static var table: Parts { Parts() }"))
  }

  // MARK: Snapshots

  @Test func `a snapshot is coded with its identifier, or after the inherited values`() {
    expect(
      [
        "{ let values = try CoherenceCore.SnapshotDecoder(decoder) self.objectID = try values.decodeObjectID() "
          + "self.title = try values.decode(Properties.table.title) }",
        "{ var values = CoherenceCore.SnapshotEncoder(encoder) try values.encode(objectID: self.objectID) "
          + "try values.encode(self.title, Properties.table.title) }",
        "func write(to values: inout CoherenceCore.SnapshotWriter) { values.write(self.title) }",
      ], of: "var title = \"\"")
    expect(
      [
        "{ self.inherited = try Release.Snapshot(from: decoder) "
          + "let values = try CoherenceCore.SnapshotDecoder(decoder) "
          + "self.chart = try values.decode(Properties.table.chart) }",
        "{ try inherited.encode(to: encoder) var values = CoherenceCore.SnapshotEncoder(encoder) "
          + "try values.encode(self.chart, Properties.table.chart) }",
        "{ inherited.write(to: &values) values.write(self.chart) }",
        "{ self.inherited = Release.Snapshot(reading: &values) self.chart = values.read() }",
        "init(inherited: Release.Snapshot, chart: Int = 0) { self.inherited = inherited self.chart = chart }",
      ], of: "var chart = 0", in: "@Subentity final class Single: Release")
    expect(
      ["{ self.inherited = try Release.Snapshot(from: decoder) }", "{ try inherited.encode(to: encoder) }"], of: "",
      in: "@Subentity final class Single: Release")
  }

  @Test func `the initialiser of a snapshot has the values of new objects`() {
    expect(
      [
        "init(objectID: CoherenceCore.ManagedObjectID? = nil, number: Int = firstNumber(), album: "
          + "CoherenceCore.ManagedObjectID? = nil, saved: Date = Date.attributeDefault, note: String? = nil)"
      ],
      of: "var number: Int = firstNumber()\n@Relationship var album: Album?\nvar genres: ToMany<Genre>\n"
        + "@Attribute(.derived(.now)) var saved: Date\nvar note: String?")
    expect(
      ["number: Int = Self.numberDefault", "package static var numberDefault: Int { firstNumber() }"],
      of: "package var number: Int = firstNumber()", in: "@Entity package final class Track: ManagedObject")
  }

  @Test func `codable values are read and written with their keys`() {
    expect(
      [
        "self.style = values.read(codable: Properties.table.style)",
        "values.write(self.style, codable: Properties.table.style)",
      ], of: "@Attribute(.codable) var style: Style?")
  }
}
