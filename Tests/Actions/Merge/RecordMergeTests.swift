import CoherenceActions
import CoherenceCore
import TestSupport
import TestRandom
import Testing

@Suite("Merging records")
struct RecordMergeTests {
  private let stack: ConnectStack

  init() throws { stack = try ConnectStack.started(try Self.makeLibrary()) }

  /// Artists with ordered albums, and genres of albums. The key of an album has two attributes.
  private static func makeLibrary() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Artist", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int32, optional: true)
        Attribute("name", .string, default: "unknown")
        Relationship("mentor", toOne: "Artist", inverse: "pupils")
        Relationship("pupils", toMany: "Artist", inverse: "mentor")
        Relationship("albums", toMany: "Album", inverse: "artist", ordered: true)
      }
      Entity("Album", userInfo: ["uniquenessAttributes": "label,number"]) {
        Attribute("label", .string)
        Attribute("number", .int64)
        Attribute("title", .string, optional: true)
        Relationship("artist", toOne: "Artist", inverse: "albums")
        Relationship("genres", toMany: "Genre", inverse: "albums")
      }
      Entity("Single", parent: "Album") { Attribute("minutes", .double, optional: true) }
      Entity("Genre", uniqueness: [["name"]]) {
        Attribute("name", .string)
        Relationship("albums", toMany: "Album", inverse: "genres")
      }
    }
  }

  @discardableResult
  private func merge(
    _ records: [MergeRecord], into entity: String, options: MergeOptions = .replaceAll
  ) throws -> MergeResult {
    let entity = try stack.entity(entity)
    return try stack.inActionContext { try $0.merge(records: records, for: entity, options: options) }
  }

  private func objects(_ entity: String, _ context: ManagedObjectContext) throws -> [ManagedObject] {
    try context.fetch(FetchRequest<ManagedObject>(entityName: entity))
  }

  private func mergeArtists() throws {
    try merge([MergeRecord(["id": 1, "name": "Ada"]), MergeRecord(["id": 2, "name": "Grace"])], into: "Artist")
  }

  @Test func `a property that a record does not contain keeps its value, and has the default in a new record`() throws {
    let result = try merge([MergeRecord(["id": 1]), MergeRecord(["id": 2, "name": "Grace"])], into: "Artist")
    #expect(result.counts == MergeResult.with(inserted: 2))
    #expect(try merge([MergeRecord(["id": 1]), MergeRecord(["id": 2])], into: "Artist").unchanged == 2)
    try stack.read { context in
      let names = try objects("Artist", context).map { try $0.value(for: "name", as: String.self) }
      #expect(names == ["unknown", "Grace"])
    }
  }

  @Test func `an attribute takes the value of its name in another canonical form`() throws {
    let model = try ManagedObjectModel {
      Entity("Shoe", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int32)
        Attribute("l\u{E4}nge", .int64, optional: true)
      }
    }
    let stack = try ConnectStack.started(model)
    let shoe = try stack.entity("Shoe")
    let record = MergeRecord(["id": 1, "la\u{308}nge": 42])
    let results = try stack.inActionContext { context in
      try (0..<2).map { _ in try context.merge(records: [record], for: shoe) }
    }
    #expect(results.map(\.inserted) == [1, 0])
    #expect(results.map(\.unchanged) == [0, 1])
    let values = try stack.read { context in
      try objects("Shoe", context).map { try $0.value(for: "l\u{E4}nge", as: Int64.self) }
    }
    #expect(values == [42])
  }

  @Test func `a to-one relationship is set by key, and cleared by nil`() throws {
    try mergeArtists()
    let album: [String: any AttributeConvertible] = ["label": "L", "number": 1]
    try merge([MergeRecord(album.merging(["artist": 2]) { $1 })], into: "Album")
    try stack.read { context in
      let artist = try #require(try objects("Album", context)[0].object(for: "artist"))
      #expect(try artist.value(for: "name", as: String.self) == "Grace")
    }
    #expect(try merge([MergeRecord(album, links: ["artist": .one(2)])], into: "Album").unchanged == 1)
    #expect(try merge([MergeRecord(album, links: ["artist": .one(1)])], into: "Album").updated == 1)
    #expect(try merge([MergeRecord(album)], into: "Album").unchanged == 1)
    #expect(try merge([MergeRecord(album.merging(["artist": Int?.none]) { $1 })], into: "Album").updated == 1)
    #expect(try stack.read { try objects("Album", $0)[0].object(for: "artist") == nil })
  }

  @Test func `an ordered to-many relationship is set by keys, in order`() throws {
    try merge(
      (1...3).map { MergeRecord(["label": "L", "number": $0]) }, into: "Album")
    func numbers() throws -> [Int64] {
      try stack.read { context in
        try objects("Artist", context)[0].objects(for: "albums").map { try $0.value(for: "number") }
      }
    }
    let keys = [MergeKey("L", 3), MergeKey("L", 1), MergeKey("L", 2)]
    try merge([MergeRecord(["id": 1], links: ["albums": .many(keys)])], into: "Artist")
    #expect(try numbers() == [3, 1, 2])
    #expect(try merge([MergeRecord(["id": 1], links: ["albums": .many(keys)])], into: "Artist").unchanged == 1)
    let fewer = MergeLink.many([keys[2], keys[0]])
    #expect(try merge([MergeRecord(["id": 1], links: ["albums": fewer])], into: "Artist").updated == 1)
    #expect(try numbers() == [2, 3])
  }

  @Test func `a many-to-many relationship is set by keys`() throws {
    try merge(["jazz", "rock", "folk"].map { MergeRecord(["name": $0]) }, into: "Genre")
    let album: [String: any AttributeConvertible] = ["label": "L", "number": 1]
    try merge([MergeRecord(album, links: ["genres": .many(["jazz", "rock"])])], into: "Album")
    #expect(try merge([MergeRecord(album, links: ["genres": .many(["rock", "jazz"])])], into: "Album").unchanged == 1)
    try merge([MergeRecord(album, links: ["genres": .many(["folk", "rock"])])], into: "Album")
    try stack.read { context in
      let names = try objects("Album", context)[0].objects(for: "genres").map { try $0.value(for: "name") as String }
      #expect(Set(names) == ["folk", "rock"])
    }
  }

  @Test func `records can link to each other within one merge`() throws {
    try merge(
      [MergeRecord(["id": 1], links: ["mentor": .one(2)]), MergeRecord(["id": 2], links: ["mentor": .none])],
      into: "Artist")
    try stack.read { context in
      let artists = try objects("Artist", context)
      #expect(try artists[0].object(for: "mentor") === artists[1])
      #expect(try artists[1].objects(for: "pupils") == [artists[0]])
    }
  }

  @Test func `a link to a missing record throws, and nothing is merged`() throws {
    try mergeArtists()
    #expect {
      try merge([MergeRecord(["label": "L", "number": 1], links: ["artist": .one(99)])], into: "Album")
    } throws: { error in
      ErrorCode.objectNotFound ~= error && "\(error)".contains("Album.artist") && !"\(error)".contains("99")
    }
    #expect(try stack.read { try objects("Album", $0).isEmpty })
  }

  @Test func `a key of several attributes is compared part by part`() throws {
    let records = [("a", 1), ("a", 11), ("a1", 1), ("b", 1)].map { MergeRecord(["label": $0, "number": $1]) }
    #expect(try merge(records, into: "Album").inserted == 4)
    #expect(try merge(records.reversed(), into: "Album").unchanged == 4)
    let result = try merge([records[0], records[3]], into: "Album", options: MergeOptions(mode: .upsertOnly))
    #expect(result.counts == MergeResult.with(unchanged: 2))
  }

  @Test func `an input record without a key is refused or skipped, by the options`() throws {
    let records = [MergeRecord(["name": "nobody"]), MergeRecord(["id": 1])]
    #expect { try merge(records, into: "Artist") } throws: { ErrorCode.invalidMergeKey ~= $0 }
    let result = try merge(records, into: "Artist", options: MergeOptions(missingKeys: .skip))
    #expect(result.counts == MergeResult.with(inserted: 1, skipped: 1))
  }

  @Test func `a replacing merge keeps records of subentities unless the options include them`() throws {
    let single = MergeRecord(["label": "S", "number": 1, "minutes": 3.5])
    try merge([single], into: "Single")
    try merge([MergeRecord(["label": "L", "number": 1])], into: "Album")
    #expect(try stack.read { try objects("Album", $0).count } == 2)

    let result = try merge([MergeRecord(["label": "S", "number": 1, "title": "One"])], into: "Album")
    #expect(result.counts == MergeResult.with(updated: 1, deleted: 1))
    try stack.read { context in
      let single = try #require(try objects("Single", context).first)
      #expect(try single.value(for: "title", as: String.self) == "One")
      #expect(try single.value(for: "minutes", as: Double.self) == 3.5)
    }
    let all = MergeOptions(mode: .replace, includesSubentities: true, maximumDeletedShare: 1)
    #expect(try merge([], into: "Album", options: all).deleted == 1)
  }

  @Test func `invalid values and names are refused with the name of their property`() throws {
    #expect { try merge([MergeRecord(["id": 1, "age": 3])], into: "Artist") } throws: {
      ErrorCode.unknownProperty ~= $0
    }
    #expect { try merge([MergeRecord(["id": "one"])], into: "Artist") } throws: {
      ErrorCode.wrongType ~= $0 && "\($0)".contains("Artist.id")
    }
    #expect { try merge([MergeRecord(["id": 1], links: ["mentor": .many([1])])], into: "Artist") } throws: {
      ErrorCode.wrongType ~= $0
    }
    #expect { try merge([MergeRecord(["id": 1], links: ["albums": .many([MergeKey("L")])])], into: "Artist") } throws: {
      ErrorCode.invalidMergeKey ~= $0
    }
  }

  @Test func `a replacing merge leaves the records of its input, for any stored records and any order`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededRandom(seed: seed)
    for _ in 0..<20 {
      let ids = (0..<30).filter { _ in Bool.random(using: &random) }.shuffled(using: &random)
      let expected = Dictionary(uniqueKeysWithValues: ids.map { ($0, "\(Int.random(in: 0...3, using: &random))") })
      let records = ids.map { MergeRecord(["id": $0, "name": expected[$0] ?? ""]) }
      try merge(records, into: "Artist")
      let stored = try stack.read { context in
        try objects("Artist", context).map { object -> (Int, String) in
          (Int(try object.value(for: "id", as: Int32.self)), try object.value(for: "name", as: String.self))
        }
      }
      #expect(stored.count == expected.count, "seed \(seed)")
      #expect(Dictionary(stored) { first, _ in first } == expected, "seed \(seed)")
      #expect(try merge(records.shuffled(using: &random), into: "Artist").unchanged == ids.count, "seed \(seed)")
    }
  }
}
