import CoherenceActions
import CoherenceCore
import Foundation
import Testing
import TestSupport

@Suite("Merging properties of values")
struct MergePropertyTests {
  private let stack: MergeStack

  init() throws {
    stack = try MergeStack(.inMemory)
    let ada = MergeRecord(["id": 1, "name": "Ada", "note": "stored", "height": 1.7])
    try stack.merge([ada], into: "Artist")
    try stack.merge(["jazz", "rock"].map { MergeRecord(["name": $0]) }, into: "Genre")
  }

  private func merge(_ records: [some Decodable], leavingOut: Set<String> = []) throws -> MergeResult {
    try stack.connect.newActionContext().merge(
      records: records, for: try stack.entity("Artist"), leavingOut: leavingOut)
  }

  private func value(_ name: String, of id: Int32 = 1) throws -> AttributeValue? {
    try stack.read { context in
      for artist in try stack.objects("Artist", context) {
        guard try artist.value(for: "id", as: Int32?.self) == id else { continue }
        let value: AttributeValue = try artist.value(for: name)
        return value
      }
      return nil
    }
  }

  private func hasMentor() throws -> Bool {
    try stack.read { context in
      try stack.objects("Artist", context).contains { try $0.object(for: "mentor") != nil }
    }
  }

  private struct Artist: Decodable {
    var id: Int32
    var note: String?
    var mentor: Int32?
  }

  @Test(arguments: [#"{"id": 1, "note": null}"#, #"{"id": 1}"#])
  func `a property decoded as nil clears its attribute or relationship`(json: String) throws {
    try stack.merge([MergeRecord(["id": 2])], into: "Artist", options: MergeOptions())
    try stack.merge([MergeRecord(["id": 1, "mentor": 2])], into: "Artist", options: MergeOptions())
    let artist = try JSONDecoder().decode(Artist.self, from: Data(json.utf8))
    #expect(try merge([artist]).counts == MergeResult.with(updated: 1))
    #expect(try value("note") == .null)
    let isLinked = try hasMentor()
    #expect(!isLinked)
    #expect(try value("name") == .string("Ada"))
    #expect(try value("height") == .double(1.7))
    #expect(try merge([artist]).counts == MergeResult.with(unchanged: 1))
  }

  @Test func `a double optional keeps, clears or sets the stored value`() throws {
    struct Partial: Decodable {
      var id: Int32
      var note: String??
      var height: Double??
    }
    #expect(try merge([Partial(id: 1, note: nil, height: nil)]).counts == MergeResult.with(unchanged: 1))
    #expect(try value("note") == .string("stored"))
    #expect(try merge([Partial(id: 1, note: .some(nil), height: nil)]).updated == 1)
    #expect(try value("note") == .null)
    #expect(try value("height") == .double(1.7))
    #expect(try merge([Partial(id: 1, note: .some("set"), height: .some(nil))]).updated == 1)
    #expect(try value("note") == .string("set"))
    #expect(try value("height") == .null)
  }

  @propertyWrapper private struct Lenient: Decodable {
    var wrappedValue: String?
    init(wrappedValue: String?) { self.wrappedValue = wrappedValue }
  }

  private struct Wrapped: Decodable {
    var id: Int32
    @Lenient var note: String?
  }

  @Test func `a property wrapper is merged by the name of its property`() throws {
    #expect(try merge([Wrapped(id: 1, note: "wrapped")]).updated == 1)
    #expect(try value("note") == .string("wrapped"))
    #expect(try merge([Wrapped(id: 1, note: nil)]).updated == 1)
    #expect(try value("note") == .null)
  }

  @propertyWrapper private struct Shouted: Decodable {
    private let text: String
    var wrappedValue: String { text.uppercased() }
    init(wrappedValue: String) { text = wrappedValue }
  }

  private struct Computed: Decodable {
    var id: Int32
    @Shouted var note: String

    init(id: Int32, note: String) {
      self.id = id
      _note = Shouted(wrappedValue: note)
    }
  }

  @Test func `a property wrapper that computes its value is refused by name`() throws {
    let error = #expect(throws: CoherenceError.self) { try merge([Computed(id: 1, note: "quiet")]) }
    #expect(error?.code == .wrongType && error?.message.contains("Artist.note") == true)
    #expect(try value("note") == .string("stored"))
  }

  private class Being: Decodable {
    let id: Int32
    let note: String?
    init(id: Int32, note: String?) {
      self.id = id
      self.note = note
    }
  }

  private final class Musician: Being {
    let height: Double?
    init(id: Int32, note: String?, height: Double?) {
      self.height = height
      super.init(id: id, note: note)
    }
    required init(from decoder: any Decoder) throws {
      height = nil
      try super.init(from: decoder)
    }
  }

  @Test func `properties of superclasses are merged`() throws {
    #expect(try merge([Musician(id: 1, note: "inherited", height: 1.8)]).updated == 1)
    #expect(try value("note") == .string("inherited"))
    #expect(try value("height") == .double(1.8))
    #expect(try merge([Musician(id: 1, note: nil, height: nil)]).updated == 1)
    #expect(try value("note") == .null)
    #expect(try value("height") == .null)
  }

  @Test func `an unknown property is refused with the known names, unless the caller leaves it out`()
    throws
  {
    struct Misspelt: Decodable {
      var id: Int32
      var naem: String
    }
    let error = #expect(throws: CoherenceError.self) { try merge([Misspelt(id: 1, naem: "Grace")]) }
    #expect(error?.code == .unknownProperty)
    #expect(error?.message.contains("'naem'") == true && error?.message.contains("note") == true)
    #expect(try merge([Misspelt(id: 1, naem: "Grace")], leavingOut: ["naem"]).counts == MergeResult.with(unchanged: 1))
    // A property with an attribute can be left out too.
    let artist = Artist(id: 1, note: nil, mentor: nil)
    #expect(try merge([artist], leavingOut: ["note"]).counts == MergeResult.with(unchanged: 1))
  }

  @Test func `the keys of a decoded dictionary are property names`() throws {
    let json = #"[{"note": "from a dictionary", "name": "Ada"}]"#
    let texts = try JSONDecoder().decode([[String: String?]].self, from: Data(json.utf8))
    let record = try MergeRecord(properties: try #require(texts.first), for: try stack.entity("Artist"))
    #expect(record.values.keys.sorted() == ["name", "note"])
    #expect(throws: CoherenceError.self) { try MergeRecord(properties: [1: 2], for: try stack.entity("Artist")) }
  }

  private struct Item<Size: Decodable>: Decodable {
    var id: Int32 = 1
    var size: Size
    var owner: [String: String]?
  }

  @Test(arguments: Backend.available)
  func `a dictionary with string keys is merged as a composite, and as the key of a destination`(
    backend: Backend
  ) throws {
    let stack = try MergeStack(backend, try FormItem.model())
    let entity = try stack.entity("Item")
    try stack.merge([MergeRecord(["name": "jazz"])], into: "Tag")
    func merge(_ size: [String: Double?]?, owner: [String: String]?) throws -> MergeResult {
      try stack.connect.newActionContext().merge(records: [Item(size: size, owner: owner)], for: entity)
    }
    func sizes() throws -> [Double?] {
      try stack.read { context in
        let item = try #require(try stack.objects("Item", context).first)
        return try ["size.width", "size.height"].map { try item.value(for: $0, as: Double?.self) }
      }
    }
    func owner() throws -> String? {
      try stack.read { context in
        try stack.objects("Item", context).first?.object(for: "owner")?.value(for: "name", as: String.self)
      }
    }
    let whole: [String: Double?] = ["width": 1.5, "height": 2]
    #expect(try merge(whole, owner: ["name": "jazz", "mood": "blue"]).counts == MergeResult.with(inserted: 1))
    #expect(try merge(whole, owner: ["name": "jazz"]).counts == MergeResult.with(unchanged: 1))
    #expect(try sizes() == [1.5, 2])
    #expect(try owner() == "jazz")
    #expect(try merge(["height": nil], owner: nil).updated == 1)
    #expect(try sizes() == [1.5, nil])
    #expect(try owner() == nil)
    #expect(try merge(nil, owner: nil).updated == 1)
    #expect(try sizes() == [nil, nil])
  }

  @Test func `a composite refuses a value without named parts, and a dictionary with an unknown name`() throws {
    let stack = try MergeStack(.inMemory, try FormItem.model())
    let entity = try stack.entity("Item")
    func code(_ size: some Decodable) -> ErrorCode? {
      do {
        _ = try MergeRecord(properties: Item(size: size), for: entity)
        return nil
      } catch {
        return (error as? CoherenceError)?.code
      }
    }
    #expect(code([1.5, 2]) == .wrongType)
    #expect(code([1: 1.5, 2: 2]) == .wrongType)
    #expect(code(1.5) == .wrongType)
    #expect(code(["depth": 1.5]) == .unknownProperty)
    #expect(code([String: Double]()) == nil)
  }

  @Test func `a set of keys is accepted by unordered relationships alone`() throws {
    struct Album: Decodable {
      var label = "L"
      var number = 1
      var genres: Set<String>
    }
    struct Collector: Decodable {
      var id: Int32 = 1
      var albums: Set<Int>
    }
    let entity = try stack.entity("Album")
    let record = try MergeRecord(properties: Album(genres: ["jazz", "rock"]), for: entity)
    #expect(try stack.merge([record], into: "Album").inserted == 1)
    #expect(try stack.merge([record], into: "Album").unchanged == 1)
    let error = #expect(throws: CoherenceError.self) { try merge([Collector(albums: [1])]) }
    #expect(error?.code == .wrongType)
  }

  private struct Nothing: Decodable {}
  private final class NoPart: Decodable {}

  @Test func `a structure or an object without properties is a composite without values`() throws {
    let stack = try MergeStack(.inMemory, try FormItem.model())
    let entity = try stack.entity("Item")
    for record in [
      try MergeRecord(properties: Item(size: Nothing()), for: entity),
      try MergeRecord(properties: Item(size: NoPart()), for: entity),
    ] {
      #expect(record.values.keys.sorted() == ["id"])
    }
  }

  private final class Cached: Decodable {
    let id: Int32
    lazy var initials = "\(id)"
    init(id: Int32) { self.id = id }
    init(from decoder: any Decoder) throws { id = 0 }
  }

  private struct Extra: Decodable {
    var id: Int32
    @Lenient var remark: String?
  }

  @Test func `a lazy property and a wrapped property are left out by their names, and refused by them`() throws {
    for (name, record) in [("initials", Cached(id: 1)), ("remark", Extra(id: 1, remark: "x"))]
      as [(String, any Decodable)]
    {
      let entity = try stack.entity("Artist")
      let error = #expect(throws: CoherenceError.self) { try MergeRecord(properties: record, for: entity) }
      #expect(error?.code == .unknownProperty && error?.message.contains("no property '\(name)'") == true, "\(name)")
      let left = try MergeRecord(properties: record, for: entity, leavingOut: [name])
      #expect(left.values.keys.sorted() == ["id"], "\(name)")
    }
  }

  private struct Revised: Decodable {
    var _id: String
    var _revision: Int
  }

  @Test func `an attribute whose name begins with an underscore takes the property of its name`() throws {
    let model = try ManagedObjectModel {
      Entity("Document", userInfo: ["uniquenessAttributes": "_id"]) {
        Attribute("_id", .string)
        Attribute("_revision", .int64)
      }
    }
    let stack = try MergeStack(.inMemory, model)
    let documents = [Revised(_id: "a", _revision: 7)]
    let result = try stack.connect.newActionContext().merge(records: documents, for: try stack.entity("Document"))
    #expect(result.inserted == 1)
    #expect(try stack.values(of: "Document", "_revision", by: "_id", as: (String, Int64).self) == ["a": 7])
  }
}
