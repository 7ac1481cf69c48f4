import CoherenceCore
import Foundation
import TestSupport
import Testing

@Suite(.needsServer) struct ReaderTests {
  private let schema: TemporarySchema
  private let store: any PersistentStore

  init() throws {
    schema = try TemporarySchema()
    store = try schema.open(PeopleModel.make())
  }

  private func fill(_ count: Int) throws -> [Row] {
    let rows = try (0..<count).map { try store.row("Person", ["name": .string("\($0)")]) }
    try store.save(.insert(store.entity("Person"), rows))
    return rows
  }

  private var all: StoreQuery { StoreQuery(entity: store.entity("Person")) }
  /// A condition that only the evaluator knows.
  private var residual: FetchPredicate { .path("name", .matches, .string("[0-9]+")) }

  @Test func `a reader sees one state, beginning with its first read`() throws {
    let row = try store.insert("Person", ["name": .string("old")])
    try store.reading { reader in
      let fetch = try reader.fetch(all)
      try store.save(row.update(["name": .string("new")]))
      try store.insert("Person")
      var rows: [Row] = []
      while try fetch.cursor.next(into: &rows) {}
      #expect(rows.map { $0["name"] } == [.string("old")])
      #expect(try reader.row(row.key, of: row.entity)?["name"] == .string("old"))
      #expect(try reader.count(all) == 1)
    }
    #expect(try store.current(row)?["name"] == .string("new"))
  }

  @Test func `missing values sort first in ascending and last in descending order, and equal values by key`() throws {
    let names: [AttributeValue] = [.string("b"), .null, .string("a"), .null, .string("b")]
    let rows = try names.map { try store.insert("Person", ["name": $0]) }
    func order(ascending: Bool) throws -> [ManagedObjectID] {
      try store.fetch("Person", by: [SortKey("name", ascending ? .forward : .reverse)]).map(\.id)
    }
    #expect(try order(ascending: true) == [1, 3, 2, 0, 4].map { rows[$0].id })
    #expect(try order(ascending: false) == [0, 4, 2, 1, 3].map { rows[$0].id })
  }

  @Test func `other reads can go between the batches of a fetch`() throws {
    let rows = try fill(5000)
    try store.reading { reader in
      let fetch = try reader.fetch(all)
      var found: [Row] = []
      #expect(try fetch.cursor.next(into: &found))
      #expect(try reader.row(rows[4711].key, of: rows[0].entity)?["name"] == .string("4711"))
      let second = try reader.fetch(all)
      var again: [Row] = []
      while try second.cursor.next(into: &again) {}
      while try fetch.cursor.next(into: &found) {}
      #expect(found.map(\.id) == rows.map(\.id))
      #expect(again.map(\.id) == rows.map(\.id))
    }
  }

  @Test func `a fetch that ends early leaves its reader in the same state`() throws {
    let rows = try fill(20_000)
    var query = all
    query.predicate = residual
    query.limit = 1
    try store.reading { reader in
      let fetch = try reader.fetch(query)
      #expect(!fetch.isPredicateExact && !fetch.isRangeExact && fetch.isOrderExact)
      var found: [Row] = []
      #expect(try fetch.cursor.next(into: &found))
      try store.save(rows[0].update(["name": .string("new")]))
      fetch.cursor.close()
      #expect(try reader.row(rows[0].key, of: rows[0].entity)?["name"] == .string("0"))
      #expect(try reader.all(all).count == 20_000)
      let unlimited = try reader.fetch(all)
      #expect(try unlimited.cursor.next(into: &found))
      unlimited.cursor.close()
      #expect(try reader.count(all) == 20_000)
    }
  }

  @Test func `an abandoned fetch does not disturb later reads`() throws {
    _ = try fill(5000)
    try store.reading { reader in
      _ = try reader.fetch(all)
      #expect(try reader.count(all) == 5000)
      _ = try reader.fetch(all)
    }
    #expect(try store.fetch("Person").count == 5000)
  }

  @Test func `small and large results are read alike`() throws {
    let names: [AttributeValue] = [.null, .string(""), .string("a"), .string(String(repeating: "é", count: 40_000))]
    let rows = try (0..<200).map { try store.row("Person", ["name": names[$0 % names.count]]) }
    try store.save(.insert(store.entity("Person"), rows))
    // Rows of a fetch with a condition, of one with a low limit, of one with a high limit, and of one without.
    var few = all
    few.limit = 50
    var many = all
    many.limit = 150
    var conditional = all
    conditional.predicate = .path("email", .notEqual, .string("nobody"))
    for (query, count) in [(conditional, 200), (few, 50), (many, 150), (all, 200)] {
      let found = try store.reading { try $0.all(query) }
      #expect(found.map(\.id) == rows.prefix(count).map(\.id))
      #expect(found.map(\.values) == rows.prefix(count).map(\.values))
      #expect(found.allSatisfy { $0.version == 1 })
    }
  }

  @Test func `a fetch whose connection breaks between rows throws instead of ending`() throws {
    let store = try schema.openNamed(store.environment.model)
    // More rows than the server can send before the client reads them.
    let text = AttributeValue.string(String(repeating: "x", count: 1000))
    let rows = try (0..<5000).map { _ in try store.row("Person", ["name": text]) }
    try store.save(.insert(store.entity("Person"), rows))
    let reader = try store.makeReader()
    let fetch = try reader.fetch(StoreQuery(entity: store.entity("Person")))
    var found: [Row] = []
    try schema.terminateConnections()
    let error = #expect(throws: CoherenceError.self) { while try fetch.cursor.next(into: &found) {} }
    #expect(error?.code == .connectionLost)
    reader.finish()
    #expect(try store.fetch("Person").count == 5000)
  }

  @Test func `a finished reader throws on every read`() throws {
    let reader = try store.makeReader()
    _ = try reader.count(all)
    reader.finish()
    let error = #expect(throws: CoherenceError.self) { try reader.count(all) }
    #expect(error?.code == .illegalState)
  }

  @Test func `a closed store throws on every read`() throws {
    let reader = try store.makeReader()
    _ = try reader.count(all)
    let other = try store.makeReader()
    store.close()
    store.close()
    for reader in [reader, other] {
      let error = #expect(throws: CoherenceError.self) { try reader.count(all) }
      #expect(error?.code == .storeDetached)
      reader.finish()
    }
    let error = #expect(throws: CoherenceError.self) { try store.makeReader() }
    #expect(error?.code == .storeDetached)
  }

}
