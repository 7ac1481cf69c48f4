import CoherenceCore
import CoherencePostgreSQL
import Foundation
import TestSupport
import Testing

/// The conditions and orders that the server itself evaluates.
@Suite(.needsServer) struct QueryTests {
  private let schema: TemporarySchema
  private let store: any PersistentStore
  private let artists: [Row]
  private let albums: [Row]

  init() throws {
    schema = try TemporarySchema()
    let model = try ManagedObjectModel {
      Entity("Artist") {
        Attribute("name", .string, optional: true)
        Relationship("albums", toMany: "Album", inverse: "artist")
      }
      Entity("Album") {
        Attribute("title", .string, optional: true)
        Attribute("year", .int32, optional: true)
        Attribute("first", .int16, optional: true)
        Relationship("artist", toOne: "Artist", inverse: "albums")
        Relationship("tags", toMany: "Tag", inverse: "albums", ordered: true)
      }
      Entity("Tag") {
        Attribute("name", .string)
        Relationship("albums", toMany: "Album", inverse: "tags")
      }
    }
    let store = try schema.open(model)
    self.store = store
    artists = try ["Nina", "Abbey", nil].map { name in
      try store.insert("Artist", ["name": name.map(AttributeValue.string) ?? .null])
    }
    let first = AttributeValue.reference(artists[0].id)
    let third = AttributeValue.reference(artists[2].id)
    albums = [
      try store.insert("Album", ["title": .string("Pastel Blues"), "year": .int(1965), "artist": first]),
      try store.insert(
        "Album", ["title": .string("100%_Ä"), "year": .int(1970), "first": .int(1970), "artist": first]),
      try store.insert("Album", ["title": .string("blues"), "artist": third]),
      try store.insert("Album", ["year": .int(1965)]),
    ]
    let tags = try ["jazz", "soul"].map { try store.insert("Tag", ["name": .string($0)]) }
    let links = [
      Link(source: albums[0].key, target: tags[1].key, sourcePosition: 1),
      Link(source: albums[0].key, target: tags[0].key, sourcePosition: 2),
      Link(source: albums[2].key, target: tags[1].key),
    ]
    try store.save(StoreSaveRequest(steps: [.link(table, links)]))
  }

  private var table: LinkTable {
    guard case .links(let table, _) = store.entity("Album").relationship(named: "tags")!.storage else { fatalError() }
    return table
  }

  /// The indexes in `albums` of the records that a predicate finds exactly.
  private func find(_ predicate: FetchPredicate) throws -> [Int] {
    let query = StoreQuery(entity: store.entity("Album"), predicate: predicate)
    let isExact = try store.reading { try $0.fetch(query).isPredicateExact }
    #expect(isExact)
    #expect(try store.reading { try $0.count(query) } == store.fetch(query).count)
    return try store.fetch(query).map { row in albums.firstIndex { $0.id == row.id }! }
  }

  @Test func `a missing value equals a missing value and fails every other comparison`() throws {
    #expect(try find(.path("year", .equal, .null)) == [2])
    #expect(try find(.path("year", .notEqual, .null)) == [0, 1, 3])
    #expect(try find(.path("year", .notEqual, .int(1965))) == [1, 2])
    #expect(try find(.path("year", .less, .int(1970))) == [0, 3])
    #expect(try find(.not(.path("year", .less, .int(1970)))) == [1, 2])
    #expect(try find(.not(.path("year", .equal, .int(1965)))) == [1, 2])
    #expect(try find(.path("year", .less, .null)) == [])
    #expect(try find(.comparison(.path(PropertyPath("year")), .equal, .path(PropertyPath("first")))) == [1, 2])
    #expect(try find(.comparison(.path(PropertyPath("year")), .notEqual, .path(PropertyPath("first")))) == [0, 3])
    #expect(try find(.membership(.path(PropertyPath("year")), in: [.int(1970), .null])) == [1, 2])
    #expect(try find(.not(.membership(.path(PropertyPath("year")), in: [.int(1970)]))) == [0, 2, 3])
    #expect(try find(.membership(.path(PropertyPath("year")), in: [])) == [])
    let between: FetchPredicate = .between(.path(PropertyPath("year")), .value(.int(1965)), .value(.int(1969)))
    #expect(try find(between) == [0, 3])
    #expect(try find(.not(between)) == [1, 2])
  }

  @Test func `integers are compared with fractions`() throws {
    let fractions: [AttributeValue] = [.double(1965.5), .decimal(Decimal(string: "1965.5")!)]
    for fraction in fractions {
      #expect(try find(.path("year", .greater, fraction)) == [1])
      #expect(try find(.path("year", .greaterOrEqual, fraction)) == [1])
      #expect(try find(.path("year", .less, fraction)) == [0, 3])
      #expect(try find(.path("year", .lessOrEqual, fraction)) == [0, 3])
      #expect(try find(.not(.path("year", .greater, fraction))) == [0, 2, 3])
      #expect(try find(.path("year", .equal, fraction)) == [])
      #expect(try find(.path("year", .notEqual, fraction)) == [0, 1, 2, 3])
      #expect(try find(.membership(.path(PropertyPath("year")), in: [fraction, .int(1970)])) == [1])
      #expect(try find(.not(.membership(.path(PropertyPath("year")), in: [fraction]))) == [0, 1, 2, 3])
      #expect(
        try find(.between(.path(PropertyPath("year")), .value(fraction), .value(.double(.infinity)))) == [1])
    }
    for negative in [AttributeValue.double(-0.5), .decimal(Decimal(string: "-0.5")!)] {
      #expect(try find(.path("first", .greater, negative)) == [1])
      #expect(try find(.comparison(.count(PropertyPath("tags")), .greater, .value(negative))) == [0, 1, 2, 3])
      #expect(try find(.comparison(.count(PropertyPath("tags")), .less, .value(negative))) == [])
    }
    for huge in [AttributeValue.double(1e300), .double(.infinity), .decimal(Decimal(string: "1e30")!)] {
      #expect(try find(.path("year", .less, huge)) == [0, 1, 3])
      #expect(try find(.path("year", .greater, huge)) == [])
      #expect(try find(.path("year", .notEqual, huge)) == [0, 1, 2, 3])
    }
    #expect(try find(.path("year", .greater, .double(-.infinity))) == [0, 1, 3])
    #expect(try find(.path("year", .less, .double(-1e300))) == [])
  }

  @Test func `texts are searched byte for byte`() throws {
    #expect(try find(.path("title", .beginsWith, .string("Pastel"))) == [0])
    #expect(try find(.path("title", .contains, .string("lues"))) == [0, 2])
    #expect(try find(.path("title", .endsWith, .string("Ä"))) == [1])
    #expect(try find(.path("title", .endsWith, .string("A\u{308}"))) == [])
    #expect(try find(.path("title", .contains, .string("%_"))) == [1])
    #expect(try find(.not(.path("title", .contains, .string("lues")))) == [1, 3])
    #expect(try find(.path("title", .less, .string("a"))) == [0, 1])
  }

  @Test func `a to-one path is null if an object on the path is missing`() throws {
    #expect(try find(.path("artist.name", .equal, .string("Nina"))) == [0, 1])
    #expect(try find(.path("artist.name", .equal, .null)) == [2, 3])
    #expect(try find(.path("artist", .equal, .null)) == [3])
    #expect(try find(.path("artist", .equal, .reference(artists[2].id))) == [2])
    #expect(try find(.path("artist", .notEqual, .reference(artists[2].id))) == [0, 1, 3])
    #expect(try find(.path("self", .equal, .reference(albums[1].id))) == [1])
    let temporary = ManagedObjectID(space: artists[0].id.space, key: -5)
    #expect(try find(.path("artist", .equal, .reference(temporary))) == [])
  }

  @Test func `a condition on members is evaluated for each member`() throws {
    let tags = PropertyPath("tags")
    let soul: FetchPredicate = .path("name", .equal, .string("soul"))
    #expect(try find(.quantified(.any, tags, soul)) == [0, 2])
    #expect(try find(.quantified(.all, tags, soul)) == [1, 2, 3])
    #expect(try find(.quantified(.none, tags, soul)) == [1, 3])
    #expect(try find(.not(.quantified(.any, tags, soul))) == [1, 3])
    #expect(try find(.comparison(.count(tags), .equal, .value(.int(2)))) == [0])
    #expect(try find(.comparison(.count(tags), .less, .value(.int(1)))) == [1, 3])
    let nested: FetchPredicate = .quantified(
      .any, PropertyPath("artist.albums"), .quantified(.any, tags, .path("name", .equal, .string("jazz"))))
    #expect(try find(nested) == [0, 1])
  }

  @Test func `a condition without an exact SQL form is left to the evaluator`() throws {
    let query = StoreQuery(
      entity: store.entity("Album"),
      predicate: .and([
        .path("year", .equal, .int(1965)),
        .path("title", .matches, .string(".*")),
      ]), sortKeys: [SortKey("artist.name")], limit: 1)
    let fetch = try store.reading { try $0.fetch(query) }
    #expect(!fetch.isPredicateExact)
    #expect(fetch.isOrderExact)
    #expect(!fetch.isRangeExact)
    #expect(try store.reading { try $0.count(query) } == nil)
    // The half that could be said, without the limit.
    #expect(try store.fetch(query).map(\.id) == [albums[3].id, albums[0].id])
  }

  @Test func `order, limit and offset are exact`() throws {
    var query = StoreQuery(
      entity: store.entity("Album"), sortKeys: [SortKey("artist.name", .reverse), SortKey("year")])
    #expect(try store.fetch(query).map(\.id) == albums.map(\.id))
    query.limit = 2
    query.offset = 1
    #expect(try store.fetch(query).map(\.id) == [albums[1].id, albums[2].id])
    #expect(try store.reading { try $0.count(query) } == 2)
    query.limit = nil
    #expect(try store.reading { try $0.count(query) } == 3)
    #expect(try store.fetch(query).count == 3)
  }
}
