import CoherenceCore
@testable import CoherencePostgreSQL
import CoherenceSQL
import Foundation
import TestSupport
import Testing

/// The indexes that a model declares, in the catalogue and in the plans of the server.
@Suite(.needsServer) struct DeclaredIndexTests {
  private let schema: TemporarySchema

  init() throws { schema = try TemporarySchema() }

  private func open(_ indexes: [[String]]) throws -> any PersistentStore {
    try schema.open(IndexedAlbums.model(indexes))
  }

  /// The columns of each index of the table in the server's catalogue, without the unique indexes.
  private var catalogue: Set<String> {
    get throws {
      let result = try schema.administration().run(
        """
        SELECT pg_catalog.string_agg(CAST(a.attname AS pg_catalog.text), ',' ORDER BY k.place) \
        FROM pg_catalog.pg_index AS i \
        JOIN pg_catalog.pg_class AS c ON c.oid = i.indrelid \
        JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
        CROSS JOIN LATERAL pg_catalog.unnest(i.indkey) WITH ORDINALITY AS k (number, place) \
        JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = k.number \
        WHERE CAST(n.nspname AS pg_catalog.text) = \(text: schema.name) \
        AND CAST(c.relname AS pg_catalog.text) = \(text: "Album") AND NOT i.indisunique GROUP BY i.indexrelid
        """, isPrepared: false)
      return Set((0..<result.rowCount).compactMap { result.text($0, 0) })
    }
  }

  /// Saves 2,000 albums, and has the server count them for its plans.
  private func fill(_ store: any PersistentStore) throws {
    let rows = try (0..<2_000).map { number in
      try store.row(
        "Album",
        ["title": .string("t\(number)"), "genre": .string("g\(number % 10)"), "year": .int(Int64(number))])
    }
    try store.save(.insert(store.entity("Album"), rows))
    try schema.administration().run("ANALYZE \(name: "Album")", isPrepared: false)
  }

  /// The names of the indexes in the server's plan for a query of albums.
  private func indexes(
    _ store: any PersistentStore, where predicate: FetchPredicate? = nil, by sortKeys: [SortKey] = [],
    limit: Int? = nil
  ) throws -> [String] {
    flattened(try IndexedAlbums.plan(store, where: predicate, by: sortKeys, limit: limit)).compactMap(\.index)
  }

  private func flattened(_ steps: [QueryStep]) -> [QueryStep] { steps.flatMap { [$0] + flattened($0.steps) } }

  @Test func `a new store has each declared index, with its columns in their order`() throws {
    try open(IndexedAlbums.indexes).close()
    #expect(try catalogue == ["year", "genre,title"])
  }

  @Test func `conditions and orders by the attributes of a declared index use the index`() throws {
    let store = try open(IndexedAlbums.indexes)
    try fill(store)
    #expect(try indexes(store, where: .path("year", .equal, .int(1965))) == ["Album.year"])
    let both = try indexes(
      store, where: .and([.path("title", .equal, .string("t13")), .path("genre", .equal, .string("g3"))]))
    #expect(both == ["Album.genre.title"])
    #expect(try indexes(store, by: [SortKey("year")], limit: 3) == ["Album.year"])
  }

  @Test func `an order that places missing values as the index does uses the index`() throws {
    let store = try open(IndexedAlbums.indexes)
    try fill(store)
    #expect(try indexes(store, by: [SortKey("year", missingValues: .first)], limit: 3) == ["Album.year"])
    #expect(try indexes(store, by: [SortKey("year", .reverse, missingValues: .last)], limit: 3) == ["Album.year"])
    #expect(try indexes(store, by: [SortKey("year", missingValues: .last)], limit: 3).isEmpty)
  }

  @Test func `conditions and orders by attributes without an index use none`() throws {
    let store = try open([])
    try fill(store)
    #expect(try indexes(store, where: .path("year", .equal, .int(1965))).isEmpty)
    #expect(try indexes(store, by: [SortKey("year")], limit: 3).isEmpty)
  }

  @Test func `a migration creates an added index and drops an index that the model leaves out`() throws {
    try open([]).close()
    #expect(try catalogue.isEmpty)
    let store = try open(IndexedAlbums.indexes)
    #expect(try catalogue == ["year", "genre,title"])
    try fill(store)
    #expect(try indexes(store, where: .path("year", .equal, .int(1965))) == ["Album.year"])
    store.close()
    try open([["genre", "title"]]).close()
    #expect(try catalogue == ["genre,title"])
    try open([["title", "genre"]]).close()
    #expect(try catalogue == ["title,genre"])
  }
}
