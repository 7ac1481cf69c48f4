import Testing

/// The text that the macros write. Spaces and line breaks do not count.
@Suite struct ExpansionTests {
  private func expectExpansion(
    of source: String, contains parts: [String], sourceLocation: Testing.SourceLocation = #_sourceLocation
  ) {
    let text = expansion(of: source)
    for part in parts {
      #expect(text.contains(part.withSingleSpaces), "\(part)\nin\n\(text)", sourceLocation: sourceLocation)
    }
  }

  @Test func `a property gets accessors through the table of the class`() {
    expectExpansion(
      of: "class Track { @_Stored var title = \"\"\n @_Stored var genres: ToMany<Genre>\n"
        + "@_Stored @Attribute(.derived(.now)) var savedAt: Date? }",
      contains: [
        "var title { get { self[Properties.table.title] } set { self[Properties.table.title] = newValue } }",
        "var genres: ToMany<Genre> { get { self[Properties.table.genres] } }",
        "var savedAt: Date? { get { self[Properties.table.savedAt] } }",
      ])
  }

  @Test func `only the properties that the model stores get accessors`() {
    let source = """
      @Entity final class Track: ManagedObject {
        var title = 1
        @Transient var isOpen = 1
        static var limit = 1
      }
      """
    expectExpansion(
      of: source, contains: ["@CoherenceModelMacros._Stored var title = 1 var isOpen = 1 static var limit = 1"])
  }

  @Test func `the table has a key of the kind of each property`() {
    let source = """
      @Entity final class Track: ManagedObject {
        var title = ""
        var length: Int?
        @Attribute(.codable) var tags: [String]
        @Attribute(.codable) var style = Style()
        @Attribute(.composite) var size: Size?
        @Relationship var album: Album?
        var genres: ToMany<Genre>
        var parts: OrderedToMany<Part>
        @Transient var isPlaying = false
        static var limit = 1
        var heading: String { title }
      }
      """
    expectExpansion(
      of: source,
      contains: [
        """
        struct Properties: CoherenceCore.EntityProperties {
        static let table = Properties()
        let title = CoherenceCore.AttributeKey<String>("title")
        let length = CoherenceCore.AttributeKey<Int?>("length")
        let tags = CoherenceCore.CodableKey<[String]>("tags")
        let style = CoherenceCore.CodableKey<Style>("style", default: Style())
        let size = CoherenceCore.CompositeKey<Size?>("size")
        let album = CoherenceCore.ToOneKey<Album>("album")
        let genres = CoherenceCore.ToManyKey<Genre>("genres")
        let parts = CoherenceCore.OrderedToManyKey<Part>("parts")
        }
        """
      ])
  }

  @Test func `the declaration of the entity has the arguments of the macros`() {
    let source = """
      @Entity("Song", abstract: true, formerNames: ["Piece"], userInfo: ["a": "b"])
      class Track: ManagedObject {
        @Attribute(.unique, .length(1...9), formerNames: ["code"]) var isrc: String
        @Attribute(.indexed, .minimum(0)) var stars: Int16? = 3
        @Attribute(.derived(.now)) var savedAt: Date?
        @Attribute(.derived(.count("parts"))) var partCount: Int?
        @Relationship(inverse: \\Album.tracks, deleteRule: .cascade, required: true) var album: Album?
        @Relationship(inverse: nil, minimumCount: 1) var parts: OrderedToMany<Part>
        #Index<Track>([\\.album, \\.size.width])
        #Unique<Track>([\\.stars])
      }
      """
    expectExpansion(
      of: source,
      contains: [
        "class var entityName: String { \"Song\" }",
        """
        class var entityDeclaration: CoherenceCore.Entity {
        CoherenceCore.Entity(Track.entityName, class: Track.self, isAbstract: true, uniqueness: [["isrc"], ["stars"]], \
        indexes: [["stars"], ["album", "size.width"]], formerNames: ["Piece"], userInfo: ["a": "b"]) {
        CoherenceCore.Attribute("isrc", String.attributeType, validation: [.minimumLength((1 ... 9).lowerBound), \
        .maximumLength((1 ... 9).upperBound)], formerNames: ["code"])
        CoherenceCore.Attribute("stars", Int16.attributeType, optional: true, default: 3 as Int16, \
        validation: [.minimum((0 as Int16).attributeValue)])
        CoherenceCore.Attribute("savedAt", Date.attributeType, optional: true, derived: .now)
        CoherenceCore.Attribute("partCount", Int.attributeType, optional: true, derived: .count("parts"))
        CoherenceCore.Relationship("album", toOne: Album.entityName, inverse: "tracks", optional: false, \
        deleteRule: .cascade)
        CoherenceCore.Relationship("parts", toMany: Part.entityName, inverse: nil, ordered: true, minimumCount: 1)
        }
        }
        """,
      ])
  }

  @Test func `an initial value other than a literal becomes a statement in initializeDefaults`() {
    expectExpansion(
      of: """
        @Entity final class Track: ManagedObject {
          var createdAt = Date()
          var day: Date = .now
          var kind: Kind = .album
        }
        """,
      contains: [
        "override func initializeDefaults() { super.initializeDefaults() createdAt = Date() day = .now }",
        "CoherenceModelMacros.PropertyResolution.attribute(of: Properties.table.kind, default: .album as Kind)",
      ])
  }

  @Test(arguments: [
    ("public ", "public ", "public "), ("open ", "open ", "public "), ("package ", "package ", "package "),
  ])
  func `the members are as visible as the class and the keys as the properties`(
    level: String, member: String, table: String
  ) {
    expectExpansion(
      of: "@Entity \(level)class Track: ManagedObject { \(table)var title: String\n var note: String\n"
        + "private var secret: String }",
      contains: [
        "\(member)class var entityName: String",
        "\(table)struct Properties: CoherenceCore.EntityProperties { \(table)static let table = Properties()",
        "\(table)let title = ", "let note = ", "fileprivate let secret = ",
        "\(table)struct Snapshot: CoherenceCore.EntitySnapshot",
        "fileprivate init(objectID: CoherenceCore.ManagedObjectID? = nil, title: String, note: String, secret: String)",
        "\(table)static func propertyNames<_Root: Track>(from root: _Root.Type) -> [AnyKeyPath: String]",
      ])
  }

  @Test func `a subentity finds the inherited keys and names through its superclass`() {
    expectExpansion(
      of: "@Subentity final class Single: Release { var chart = 0 }",
      contains: [
        """
        @dynamicMemberLookup struct Properties: CoherenceCore.EntityProperties {
        static let table = Properties()
        let chart = CoherenceCore.AttributeKey<Int>("chart")
        subscript <_Key>(dynamicMember keyPath: KeyPath<Release.Properties, _Key>) -> _Key {
        Release.Properties.table[keyPath: keyPath]
        }
        }
        """,
        "override class var entityName: String { \"Single\" }",
        "CoherenceCore.Entity(Single.entityName, class: Single.self, parent: Release.entityName) {",
        "Release.propertyNames(from: Single.self).merging([\\Single.chart: \"chart\"]) { name, _ in name }",
        "extension Single: nonisolated CoherenceCore.DeclaredSubentity { }",
      ])
  }

  @Test func `a composite reads and writes its parts in order`() {
    expectExpansion(
      of: "@Composite public struct Size { public var width, height: Double\n var name: String? }",
      contains: [
        """
        extension Size: CoherenceCore.CompositeValue {
        public struct Parts: CoherenceCore.CompositeParts {
        public static let table = Parts()
        public let width = CoherenceCore.PartKey<Double>("width")
        public let height = CoherenceCore.PartKey<Double>("height")
        let name = CoherenceCore.PartKey<String?>("name")
        }
        public static var compositeParts: [CoherenceCore.Attribute] {
        CoherenceCore.Attribute.parts("width", Double.self)
        + CoherenceCore.Attribute.parts("height", Double.self)
        + CoherenceCore.Attribute.parts("name", String?.self)
        }
        public init(reading parts: inout CoherenceCore.CompositeReader) {
        self.width = parts.read()
        self.height = parts.read()
        self.name = parts.read()
        }
        public func write(to parts: inout CoherenceCore.CompositeWriter) {
        parts.write(self.width)
        parts.write(self.height)
        parts.write(self.name)
        }
        }
        """
      ])
  }

  @Test func `the initial values of parts are defaults of the model and of reading`() {
    expectExpansion(
      of: "@Composite struct Size { var width = 2.5\n var unit: Unit = .metre\n var origin = Point(x: 1)\n"
        + "var note: String? = nil }",
      contains: [
        "CoherenceCore.Attribute.parts(\"width\", Double.self, default: 2.5 as Double)",
        "CoherenceCore.Attribute.parts(\"unit\", Unit.self, default: .metre as Unit)",
        "CoherenceCore.Attribute.parts(\"origin\", Point.self, default: Point(x: 1) as Point)",
        "CoherenceCore.Attribute.parts(\"note\", String?.self)",
        "self.width = parts.read(default: 2.5 as Double)", "self.note = parts.read()",
      ])
  }

  @Test func `a private part has no key, and a generic composite no stored table`() {
    let text = expansion(of: "@Composite struct Pair<Value> { private var first: Int\n fileprivate var second: Int }")
    #expect(text.contains("static var table: Parts { Parts() } fileprivate let second = "))
    #expect(!text.contains("let first"))
  }

  @Test func `the compiler resolves the key of a property whose type is not of the standard library`() {
    expectExpansion(
      of: """
        @Entity final class Entry: ManagedObject {
          var account: Account?
          private var kind: Kind = .debit
          @Attribute(.unique) var code: Code?
        }
        """,
      contains: [
        """
        struct Properties: CoherenceCore.EntityProperties {
        enum TypeOf_account: CoherenceModelMacros.ResolvedType {
        static let key = CoherenceModelMacros.PropertyResolution.key("account", optional: (Account).self)
        }
        fileprivate enum TypeOf_kind: CoherenceModelMacros.ResolvedType {
        fileprivate static let key = CoherenceModelMacros.PropertyResolution.key("kind", required: (Kind).self)
        }
        enum TypeOf_code: CoherenceModelMacros.ResolvedType {
        static let key = CoherenceModelMacros.PropertyResolution.attributeKey(
        CoherenceModelMacros.PropertyResolution.key("code", optional: (Code).self))
        }
        static let table = Properties()
        let account = TypeOf_account.key
        fileprivate let kind = TypeOf_kind.key
        let code = TypeOf_code.key
        }
        """.replacing("attributeKey(\n", with: "attributeKey("),
        "CoherenceModelMacros.PropertyResolution.declaration(of: Properties.table.account)",
        "CoherenceModelMacros.PropertyResolution.attribute(of: Properties.table.kind, default: .debit as Kind)",
        "CoherenceModelMacros.PropertyResolution.attribute(of: Properties.table.code, optional: true)",
        "var account: Properties.TypeOf_account.Key.SnapshotValue",
        "account: Properties.TypeOf_account.Key.SnapshotValue = nil",
        "kind: Properties.TypeOf_kind.Key.SnapshotValue = Properties.TypeOf_kind.Key.snapshotValue(.debit)",
      ])
  }
}
