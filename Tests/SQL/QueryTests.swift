import CoherenceCore
import Foundation
import TestSupport
import Testing

/// The conditions and orders that the stores' engines themselves evaluate.
@Suite struct QueryTests {
  @Test(arguments: Backend.availableSQL)
  func `a missing value equals a missing value and fails every other comparison`(backend: Backend) throws {
    let find = try TaggedAlbums(backend).find
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

  @Test(arguments: Backend.availableSQL)
  func `integers are compared with fractions`(backend: Backend) throws {
    let find = try TaggedAlbums(backend).find
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

  @Test(arguments: Backend.availableSQL)
  func `reads by more keys than one statement takes find the records of every key`(backend: Backend) throws {
    let library = try TaggedAlbums(backend)
    let (store, albums) = (library.store, library.albums)
    let entity = store.entity("Album")
    let tags = try #require(entity.relationship(named: "tags"))
    let keys = albums.map(\.key)
    let last = try #require(keys.max())
    // The first statement of one list has no stored key, and the last statement of the other list has none.
    for missing in [Array(Int64(-5_000)..<0), Array((last + 1)...(last + 5_000))] {
      let wanted = (keys + missing).sorted()
      let links = try store.reading { try $0.links(library.tagLinks, of: wanted, fromSource: true) }
      #expect(links.map(\.source).sorted() == [keys[0], keys[0], keys[2]].sorted())
      let rows = try store.reading { try $0.rows(wanted, of: entity) }
      #expect(rows.count == albums.count && Set(rows.map(\.id)) == Set(albums.map(\.id)))
      let counts = try store.reading { reader in
        let members = try #require(reader as? any MemberReading)
        return try members.memberCounts(of: tags, owners: wanted)
      }
      #expect(counts.filter { $0.value > 0 } == [keys[0]: 2, keys[2]: 1])
    }
  }

  @Test(arguments: Backend.availableSQL)
  func `texts are searched byte for byte`(backend: Backend) throws {
    let find = try TaggedAlbums(backend).find
    #expect(try find(.path("title", .beginsWith, .string("Pastel"))) == [0])
    #expect(try find(.path("title", .contains, .string("lues"))) == [0, 2])
    #expect(try find(.path("title", .endsWith, .string("Ä"))) == [1])
    #expect(try find(.path("title", .endsWith, .string("A\u{308}"))) == [])
    #expect(try find(.path("title", .contains, .string("%_"))) == [1])
    #expect(try find(.not(.path("title", .contains, .string("lues")))) == [1, 3])
    #expect(try find(.path("title", .less, .string("a"))) == [0, 1])
  }

  @Test(arguments: Backend.availableSQL)
  func `a to-one path is null if an object on the path is missing`(backend: Backend) throws {
    let library = try TaggedAlbums(backend)
    #expect(try library.find(.path("artist.name", .equal, .string("Nina"))) == [0, 1])
    #expect(try library.find(.path("artist.name", .equal, .null)) == [2, 3])
    #expect(try library.find(.path("artist", .equal, .null)) == [3])
    #expect(try library.find(.path("artist", .equal, .reference(library.artists[2].id))) == [2])
    #expect(try library.find(.path("artist", .notEqual, .reference(library.artists[2].id))) == [0, 1, 3])
    #expect(try library.find(.path("self", .equal, .reference(library.albums[1].id))) == [1])
    let temporary = ManagedObjectID(space: library.artists[0].id.space, key: -5)
    #expect(try library.find(.path("artist", .equal, .reference(temporary))) == [])
  }

  @Test(arguments: Backend.availableSQL)
  func `a condition on members is evaluated for each member`(backend: Backend) throws {
    let find = try TaggedAlbums(backend).find
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

  @Test(arguments: Backend.availableSQL)
  func `a condition on members compares any number of aggregates of the record around them`(backend: Backend) throws {
    let find = try TaggedAlbums(backend).find
    // The statement has an alias for each aggregate, and one for the artist of each member.
    var parts: [FetchPredicate] = [.path("artist.name", .equal, .string("Nina"))]
    for number in Int64(0)..<12 {
      let sum = PropertyPath(names: ["artist", "albums", "@sum", "year"], outerLevel: 1)
      parts.append(.comparison(.path(sum), .greater, .value(.int(3_920 + number))))
    }
    #expect(try find(.quantified(.any, PropertyPath("artist.albums"), .and(parts))) == [0, 1])
    let none: FetchPredicate = .comparison(
      .path(PropertyPath(names: ["artist", "albums", "@sum", "year"], outerLevel: 1)), .greater, .value(.int(3_935)))
    #expect(try find(.quantified(.any, PropertyPath("artist.albums"), .and(parts + [none]))) == [])
  }

  @Test(arguments: Backend.availableSQL)
  func `a condition without an exact SQL form is left to the evaluator`(backend: Backend) throws {
    let library = try TaggedAlbums(backend)
    let query = StoreQuery(
      entity: library.store.entity("Album"),
      predicate: .and([
        .path("year", .equal, .int(1965)),
        .path("title", .matches, .string(".*")),
      ]), sortKeys: [SortKey("artist.name")], limit: 1)
    let fetch = try library.store.reading { try $0.fetch(query) }
    #expect(!fetch.isPredicateExact)
    #expect(fetch.isOrderExact)
    #expect(!fetch.isRangeExact)
    #expect(try library.store.reading { try $0.count(query) } == nil)
    // The part of the condition with a SQL form, without the limit.
    #expect(try library.store.fetch(query).map(\.id) == [library.albums[3].id, library.albums[0].id])
  }

  @Test(arguments: Backend.availableSQL)
  func `a comparison of an integer with a fraction of each record is left to the context because of their types`(
    backend: Backend
  ) throws {
    let model = try ManagedObjectModel {
      Entity("Album") {
        Attribute("plays", .int64)
        Attribute("weight", .double)
        Relationship("tracks", toMany: "Track", inverse: "album")
      }
      Entity("Track") {
        Attribute("title", .string)
        Relationship("album", toOne: "Album", inverse: "tracks")
      }
    }
    let stack = try LoggedStore(backend, model)
    let context = stack.context()
    for format in ["plays > weight", "tracks.@count < weight"] {
      let request = FetchRequest<ManagedObject>(entityName: "Album").filter(try FetchPredicate(format: format))
      let explanation = try context.performAndWait { try context.explain(request) }
      #expect(explanation.stores.first?.query.residuals.map(\.reason) == [.types], "\(format)")
    }
  }

  @Test(arguments: Backend.availableSQL)
  func `order, limit and offset are exact`(backend: Backend) throws {
    let library = try TaggedAlbums(backend)
    var query = StoreQuery(
      entity: library.store.entity("Album"), sortKeys: [SortKey("artist.name", .reverse), SortKey("year")])
    #expect(try library.store.fetch(query).map(\.id) == library.albums.map(\.id))
    query.limit = 2
    query.offset = 1
    #expect(try library.store.fetch(query).map(\.id) == [library.albums[1].id, library.albums[2].id])
    #expect(try library.store.reading { try $0.count(query) } == 2)
    query.limit = nil
    #expect(try library.store.reading { try $0.count(query) } == 3)
    #expect(try library.store.fetch(query).count == 3)
  }
}
