import CoherenceCore
import CoherenceSQLite
import GRDB
import TestSupport
import Testing

/// The indexes that a model declares, in the catalogue and in the plans of a SQLite store.
@Suite struct DeclaredIndexTests {
  private let place: TemporaryStore

  init() throws { place = try TemporaryStore() }

  private func open(_ indexes: [[String]]) throws -> any PersistentStore {
    try place.open(IndexedAlbums.model(indexes))
  }

  /// The columns of each index of the table in the file's catalogue.
  private var catalogue: Set<[String]> {
    get throws {
      try DatabaseQueue(path: place.path).read { database in
        Set(try database.indexes(on: "Album").map { $0.columns })
      }
    }
  }

  @Test func `a new store has each declared index, with its columns in their order`() throws {
    try open(IndexedAlbums.indexes).close()
    #expect(try catalogue == Set(IndexedAlbums.indexes))
  }

  @Test func `a condition on the attributes of a declared index searches the index`() throws {
    let store = try open(IndexedAlbums.indexes)
    let year = try IndexedAlbums.plan(store, where: .path("year", .equal, .int(1965)))
    #expect(year.map(\.operation) == ["SEARCH"])
    #expect(year.first?.index == "Album.year")
    let both = try IndexedAlbums.plan(
      store, where: .and([.path("title", .equal, .string("a")), .path("genre", .equal, .string("b"))]))
    #expect(both.map(\.operation) == ["SEARCH"])
    #expect(both.first?.index == "Album.genre.title")
    // The second attribute of an index alone is no beginning of it.
    #expect(try IndexedAlbums.plan(store, where: .path("title", .equal, .string("a"))).map(\.operation) == ["SCAN"])
  }

  @Test func `an order by the attribute of a declared index is read from the index without a sort`() throws {
    let indexed = try IndexedAlbums.plan(open(IndexedAlbums.indexes), by: [SortKey("year")], limit: 3)
    #expect(indexed.map(\.operation) == ["SCAN"])
    #expect(indexed.first?.index == "Album.year")
  }

  @Test(arguments: [MissingValuePlacement.first, .last])
  func `an order that places missing values is read from the index without a sort`(
    missingValues: MissingValuePlacement
  ) throws {
    let sortKey = SortKey("year", missingValues: missingValues)
    let indexed = try IndexedAlbums.plan(open(IndexedAlbums.indexes), by: [sortKey], limit: 3)
    #expect(indexed.map(\.operation) == ["SCAN"])
    #expect(indexed.first?.index == "Album.year")
  }

  @Test func `an order by an attribute without an index is sorted`() throws {
    let sorted = try IndexedAlbums.plan(open([]), by: [SortKey("year")], limit: 3)
    #expect(sorted.map(\.operation) == ["SCAN", "USE TEMP B-TREE FOR ORDER BY"])
  }

  @Test func `a migration creates an added index and drops an index that the model leaves out`() throws {
    try open([]).close()
    #expect(try catalogue.isEmpty)
    let store = try open(IndexedAlbums.indexes)
    #expect(try catalogue == Set(IndexedAlbums.indexes))
    #expect(try IndexedAlbums.plan(store, where: .path("year", .equal, .int(1965))).first?.index == "Album.year")
    store.close()
    try open([["genre", "title"]]).close()
    #expect(try catalogue == [["genre", "title"]])
    try open([["title", "genre"]]).close()
    #expect(try catalogue == [["title", "genre"]])
  }
}
