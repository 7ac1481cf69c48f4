import CoherenceCore
import CoherenceSQL
import Foundation
import TestSupport
import Testing

@testable import CoherencePostgreSQL

/// Claims while other sessions of the server are active.
@Suite(.needsServer, .timeLimit(.minutes(15))) struct ClaimTests {
  private let schema: TemporarySchema
  private let store: PostgreSQLStore

  init() throws {
    schema = try TemporarySchema()
    store = try #require(
      try schema.open(PeopleModel.make(), options: [PostgreSQLOption.statementTimeout: 20]) as? PostgreSQLStore)
    for name in ["a", "b", "c"] { try store.insert("Person", ["name": .string(name)]) }
  }

  /// Claims one person without an e-mail address, by name.
  private func claim(_ email: String, from store: PostgreSQLStore) throws -> [AttributeValue] {
    let person = store.entity("Person")
    let query = StoreQuery(
      entity: person, predicate: .path("email", .equal, .null), sortKeys: [SortKey("name")], limit: 1)
    let slots = try ["name", "email"].map { try #require(person.attribute(named: $0)).slot }
    return try #require(try store.claim(query, setting: [slots[1]: .string(email)])).map { $0[slots[0]] }
  }

  @Test func `a claim skips the record of a running transaction, which is free again after a rollback`() throws {
    let other = try schema.administration()
    try other.run("BEGIN", isPrepared: false)
    try other.run(
      "UPDATE \(name: "Person") SET \(name: "email") = 'x' WHERE \(name: "name") = 'a'", isPrepared: false)
    #expect(try claim("1", from: store) == [.string("b")])
    try other.run("ROLLBACK", isPrepared: false)
    #expect(try claim("2", from: store) == [.string("a")])
    #expect(try claim("3", from: store) == [.string("c")])
    #expect(try claim("4", from: store) == [])
  }

  @Test func `a claim in a block that excludes other writers is committed and ends the exclusion`() throws {
    try store.excludingWriters {
      let names = try claim("1", from: store)
      #expect(names == [.string("a")])
      #expect(store.pool.ownLocking == nil)
    }
    try store.excludingWriters {
      let nobody = StoreQuery(entity: store.entity("Person"), predicate: .path("name", .equal, .string("z")), limit: 1)
      let none = try store.claim(nobody, setting: [0: .null])
      #expect(none?.isEmpty == true)
      #expect(store.pool.ownLocking != nil)
      let names = try claim("2", from: store)
      #expect(names == [.string("b")])
    }
    #expect(try store.fetch("Person", where: .path("email", .equal, .null)).count == 1)
  }
}
