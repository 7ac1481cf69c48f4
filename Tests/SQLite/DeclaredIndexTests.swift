import CoherenceCore
import CoherenceSQLite
import GRDB
import TestSupport
import Testing

/// The indexes that a model declares, in the catalogue and in the plans of a SQLite store.
@Suite struct DeclaredIndexTests {
  private let place: TemporaryStore
  private static let declared = [["year"], ["genre", "title"]]

  init() throws { place = try TemporaryStore() }

  private func open(_ indexes: [[String]]) throws -> any PersistentStore {
    let model = try ManagedObjectModel {
      Entity("Album", indexes: indexes) {
        Attribute("title", .string)
        Attribute("genre", .string)
        Attribute("year", .int32)
      }
    }
    return try place.open(model)
  }

  /// The columns of each index of the table in the file's catalogue.
  private var catalogue: Set<[String]> {
    get throws {
      try DatabaseQueue(path: place.path).read { database in
        Set(try database.indexes(on: "Album").map { $0.columns })
      }
    }
  }

  /// The steps of SQLite's plan for a query of albums.
  private func steps(
    _ store: any PersistentStore, where predicate: FetchPredicate? = nil, by sortKeys: [SortKey] = [],
    limit: Int? = nil
  ) throws -> [QueryStep] {
    let query = StoreQuery(
      entity: store.entity("Album"), predicate: predicate, sortKeys: sortKeys, limit: limit)
    return try store.reading { reader in
      let explaining = try #require(reader as? any QueryExplaining)
      return try explaining.explain(query).steps
    }
  }

  @Test func `a new store has each declared index, with its columns in their order`() throws {
    try open(Self.declared).close()
    #expect(try catalogue == Set(Self.declared))
  }

  @Test func `a condition on the attributes of a declared index searches the index`() throws {
    let store = try open(Self.declared)
    let year = try steps(store, where: .path("year", .equal, .int(1965)))
    #expect(year.map(\.operation) == ["SEARCH"])
    #expect(year.first?.index == "Album.year")
    let both = try steps(
      store, where: .and([.path("title", .equal, .string("a")), .path("genre", .equal, .string("b"))]))
    #expect(both.map(\.operation) == ["SEARCH"])
    #expect(both.first?.index == "Album.genre.title")
    // The second attribute of an index alone is no beginning of it.
    #expect(try steps(store, where: .path("title", .equal, .string("a"))).map(\.operation) == ["SCAN"])
  }

  @Test func `an order by the attribute of a declared index is read from the index without a sort`() throws {
    let indexed = try steps(open(Self.declared), by: [SortKey("year")], limit: 3)
    #expect(indexed.map(\.operation) == ["SCAN"])
    #expect(indexed.first?.index == "Album.year")
  }

  @Test func `an order by an attribute without an index is sorted`() throws {
    let sorted = try steps(open([]), by: [SortKey("year")], limit: 3)
    #expect(sorted.map(\.operation) == ["SCAN", "USE TEMP B-TREE FOR ORDER BY"])
  }

  @Test func `a migration creates an added index and drops an index that the model leaves out`() throws {
    try open([]).close()
    #expect(try catalogue.isEmpty)
    let store = try open(Self.declared)
    #expect(try catalogue == Set(Self.declared))
    #expect(try steps(store, where: .path("year", .equal, .int(1965))).first?.index == "Album.year")
    store.close()
    try open([["genre", "title"]]).close()
    #expect(try catalogue == [["genre", "title"]])
    try open([["title", "genre"]]).close()
    #expect(try catalogue == [["title", "genre"]])
  }
}
