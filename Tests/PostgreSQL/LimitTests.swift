import CoherenceCore
@testable import CoherencePostgreSQL
import CoherenceSQL
import Foundation
import TestSupport
import Testing

@Suite(.needsServer) struct PostgreSQLLimitTests {
  private let schema: TemporarySchema
  private let store: any PersistentStore

  init() throws {
    schema = try TemporarySchema()
    store = try schema.open(PeopleModel.make())
  }

  @Test func `a condition with more values than a statement takes is left to the evaluator`() throws {
    let row = try store.insert("Person", ["name": .string("b")])
    let parts = (0..<70_000).map { FetchPredicate.path("name", .beginsWith, .string("x\($0)")) }
    let query = StoreQuery(
      entity: store.entity("Person"), predicate: .or(parts + [.path("name", .beginsWith, .string("b"))]))
    let fetch = try store.reading { try $0.fetch(query) }
    #expect(!fetch.isPredicateExact)
    #expect(try store.reading { try $0.all(query) }.map(\.id) == [row.id])
    #expect(try store.reading { try $0.count(query) } == nil)
  }

  @Test func `values of a gigabyte are refused before they are sent`() throws {
    try PostgreSQLMessage.check(1 << 29)
    let error = #expect(throws: CoherenceError.self) { try PostgreSQLMessage.check(1 << 30) }
    #expect(error?.code == .limitExceeded)
    #expect(error?.isRetryable == false)
  }

  @Test func `a list of any length is one bound value`() throws {
    let row = try store.insert("Person", ["name": .string("b")])
    let names = (0..<200_000).map { AttributeValue.string("x\($0)") } + [.string("b")]
    let query = StoreQuery(
      entity: store.entity("Person"), predicate: .membership(.path(PropertyPath("name")), in: names))
    #expect(try store.reading { try $0.fetch(query) }.isPredicateExact)
    #expect(try store.reading { try $0.all(query) }.map(\.id) == [row.id])
  }

  @Test func `a statement for many rows has at most 4,096 of them, and no more texts than a message takes`() throws {
    let store = try #require(store as? PostgreSQLStore)
    let person = store.entity("Person")
    let slot = try #require(person.attribute(named: "name")).slot
    let statement = try PostgreSQLBulkStatement.update(person, slots: SlotSet([slot]), in: store.schema)
    func parts(_ texts: [String]) -> [Range<Int>] {
      statement.ranges(of: texts.count) { index, parameter in
        if case .slot = parameter { .string(texts[index]) } else { .int(0) }
      }
    }
    #expect(parts(Array(repeating: "a", count: 10_000)) == [0..<4_096, 4_096..<8_192, 8_192..<10_000])
    let large = String(repeating: "a", count: 1 << 24)
    #expect(parts(["a", large, large, large, "a"]) == [0..<2, 2..<4, 4..<5])
    #expect(parts([large + large + large, "a"]) == [0..<1, 1..<2])
    #expect(parts([]).isEmpty)
  }

  @Test func `a connection with many statements prepared begins and ends any transaction`() throws {
    let pool = try #require(store as? PostgreSQLStore).pool
    func prepareMany() throws {
      try pool.withConnection(for: .saving) { connection in
        for number in 0..<250 { try connection.run("SELECT 1 AS \(name: "c\(number)")") }
      }
    }
    let row = try store.insert("Person", ["name": .string("a")])
    try prepareMany()
    let query = StoreQuery(entity: store.entity("Person"))
    #expect(try store.reading { try $0.all(query) }.map(\.id) == [row.id])
    try prepareMany()
    var changed = row.values
    changed[row.entity.attribute(named: "name")!.slot] = .string("b")
    let update = Row.make(id: row.id, entity: row.entity, version: 9, values: changed)
    #expect(throws: StoreConflict.Failure.self) {
      try store.save(.update(row.entity, slots: SlotSet([0]), [RowUpdate(row: update, baseVersion: 8)]))
    }
  }

  @Test func `a statement with too many values is refused, and the connection is of use afterwards`() throws {
    let connection = try schema.administration()
    let values = (0..<65_536).map { SQLFragment.value(.int(Int64($0)), .int64) }
    let error = #expect(throws: CoherenceError.self) {
      try connection.run("SELECT 1 WHERE 1 IN (\(values.joined(separator: ", ")))", isPrepared: false)
    }
    #expect(error?.code == .limitExceeded)
    #expect(error?.isRetryable == false)
    #expect(try connection.run("SELECT 1", isPrepared: false).rowCount == 1)
  }

  @Test func `a text too long for an index throws a limit error, not a disk error`() throws {
    let model = try ManagedObjectModel { Entity("Thing", uniqueness: [["name"]]) { Attribute("name", .string) } }
    let schema = try TemporarySchema()
    let store = try schema.open(model)
    // Without repetitions, which the server would compress.
    var random = SystemRandomNumberGenerator()
    let text = String(decoding: (0..<20_000).map { _ in UInt8.random(in: 33...126, using: &random) }, as: UTF8.self)
    let error = #expect(throws: CoherenceError.self) { try store.insert("Thing", ["name": .string(text)]) }
    #expect(error?.code == .limitExceeded)
    #expect(error?.outcome == .notApplied)
  }
}
