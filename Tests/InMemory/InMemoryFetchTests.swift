import CoherenceCore
import CoherenceInMemory
import Foundation
import Testing

@Suite struct InMemoryFetchTests {
  private let music: MusicFixture

  init() throws {
    music = try MusicFixture()
    try music.addBand()
  }

  @Test func `without an order, records are sorted by key`() throws {
    #expect(try music.keys(StoreQuery(entity: music.album)) == [1, 2, 3, 4])
  }

  @Test func `a query distinguishes an entity from its subentities`() throws {
    #expect(try music.keys(StoreQuery(entity: music.album, includesSubentities: false)) == [1, 2, 3])
    #expect(try music.keys(StoreQuery(entity: music.liveAlbum)) == [4])
  }

  @Test func `missing values sort first in ascending and last in descending order, and equal values by key`() throws {
    #expect(try music.keys(StoreQuery(entity: music.album, sortKeys: [SortKey("year")])) == [3, 1, 2, 4])
    #expect(
      try music.keys(StoreQuery(entity: music.album, sortKeys: [SortKey("year", .reverse)])) == [4, 2, 1, 3])
    #expect(try music.keys(StoreQuery(entity: music.album, sortKeys: [SortKey("artist.name")])) == [3, 1, 2, 4])
  }

  @Test func `offset and limit cut the ordered result`() throws {
    var query = StoreQuery(entity: music.album, sortKeys: [SortKey("year")], limit: 2, offset: 1)
    #expect(try music.keys(query) == [1, 2])
    query.limit = 0
    #expect(try music.keys(query).isEmpty)
    query.limit = nil
    query.offset = 9
    #expect(try music.keys(query).isEmpty)
  }

  @Test func `each page of an ordered result is the same part of the whole result`() throws {
    let model = try ManagedObjectModel { Entity("Note") { Attribute("rank", .int64) } }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(type: .inMemory)
    let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    try context.performAndWait {
      for number in 0..<100 {
        try context.insertNewObject(forEntityName: "Note").setValue(number * 37 % 10, for: "rank")
      }
      try context.save()
      let request = FetchRequest<ManagedObject>(entityName: "Note").sort("rank", .reverse)
      let whole = try context.fetchIDs(request)
      for offset in stride(from: 0, to: 110, by: 7) {
        let page = try context.fetchIDs(request.limit(7, offset: offset))
        #expect(page == Array(whole.dropFirst(offset).prefix(7)))
      }
      #expect(try context.fetchIDs(request.limit(.max, offset: .max)).isEmpty)
    }
  }

  @Test func `counts are exact and apply limit and offset`() throws {
    let reader = try music.store.makeReader()
    #expect(try reader.count(StoreQuery(entity: music.album)) == 4)
    #expect(try reader.count(StoreQuery(entity: music.album, includesSubentities: false)) == 3)
    #expect(try reader.count(StoreQuery(entity: music.album, limit: 2, offset: 3)) == 1)
    let early = FetchPredicate.comparison(.path(PropertyPath("year")), .less, .value(.int(1975)))
    #expect(try reader.count(StoreQuery(entity: music.album, predicate: early)) == 2)
  }

  @Test func `predicates see attributes, owners and members`() throws {
    #expect(
      try music.keys(StoreQuery(entity: music.album, predicate: .equal("artist.name", .string("Can")))) == [1, 2, 4])
    let owns = FetchPredicate.quantified(.any, PropertyPath("albums"), .equal("title", .string("Live")))
    #expect(try music.keys(StoreQuery(entity: music.artist, predicate: owns)) == [1])
    let three = FetchPredicate.comparison(.count(PropertyPath("albums")), .equal, .value(.int(3)))
    #expect(try music.keys(StoreQuery(entity: music.artist, predicate: three)) == [1])
  }

  @Test func `identities find the same records with an index as without`() throws {
    let artist = AttributeValue.reference(music.id(music.artist, 1))
    let nobody = AttributeValue.reference(music.id(music.artist, 9))
    let album = AttributeValue.reference(music.id(music.album, 2))
    let conditions: [(FetchPredicate, [Int64])] = [
      (.equal("artist", artist), [1, 2, 4]), (.equal("artist", nobody), []), (.equal("artist", .null), [3]),
      (.equal("artist.self", artist), [1, 2, 4]),
      (.membership(.path(PropertyPath("artist")), in: [nobody, artist]), [1, 2, 4]),
      (.membership(.path(PropertyPath("artist")), in: [.null, artist]), [1, 2, 3, 4]),
      (.membership(.path(.own), in: [album, album]), [2]),
      (.comparison(.value(album), .equal, .path(.own)), [2]),
      (.and([.equal("title", .string("Live")), .equal("artist", artist)]), [4]),
    ]
    for (condition, keys) in conditions {
      #expect(try music.keys(StoreQuery(entity: music.album, predicate: condition)) == keys)
      // Two negations hide the condition from the indexes.
      #expect(try music.keys(StoreQuery(entity: music.album, predicate: .not(.not(condition)))) == keys)
    }
  }

  @Test func `an index follows references that change`() throws {
    let query = StoreQuery(entity: music.album, predicate: .equal("artist", .reference(music.id(music.artist, 1))))
    let moved = music.row(music.album, 1, version: 2, ["title": .string("Tago Mago"), "year": .int(1971)])
    try music.save(
      .update(music.album, slots: music.slots(music.album, "artist"), [RowUpdate(row: moved, baseVersion: 1)]))
    #expect(try music.keys(query) == [2, 4])
  }

  @Test func `rows are found by key, and missing rows are omitted`() throws {
    let reader = try music.store.makeReader()
    #expect(try reader.rows([4, 9, 1, 1], of: music.album).map(\.key).sorted() == [1, 4])
    #expect(try reader.row(4, of: music.album)?.entity === music.liveAlbum)
    #expect(try reader.row(9, of: music.album) == nil)
  }

  @Test func `a reader stays with the state of its first read`() throws {
    let early = try music.store.makeReader()
    let late = try music.store.makeReader()
    #expect(try early.count(StoreQuery(entity: music.album)) == 4)
    let link = try music.link(album: 1, genre: 1)
    try music.save(
      .delete(music.album, [RowDelete(id: music.id(music.album, 3), baseVersion: 1)]),
      .insert(music.genre, [music.row(music.genre, 1, ["name": .string("Krautrock")])]),
      .link(try music.links(), [link]))
    #expect(try MusicFixture.keys(StoreQuery(entity: music.album), early) == [1, 2, 3, 4])
    #expect(try early.row(3, of: music.album) != nil)
    #expect(try early.links(music.links(), of: [link.source], fromSource: true).isEmpty)
    #expect(try MusicFixture.keys(StoreQuery(entity: music.album), late) == [1, 2, 4])
    #expect(try late.links(music.links(), of: [link.source], fromSource: true) == [link])
  }

  @Test func `a large result is complete and in order`() throws {
    let rows = (10..<5010).map { music.row(music.genre, $0, ["name": .string("genre")]) }
    try music.save(.insert(music.genre, rows.reversed()))
    #expect(try music.keys(StoreQuery(entity: music.genre)) == Array(10..<5010))
  }
}
