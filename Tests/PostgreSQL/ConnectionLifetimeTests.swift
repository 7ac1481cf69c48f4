import CoherenceCore
@testable import CoherencePostgreSQL
import Foundation
import TestSupport
import Testing

/// The greatest age of the connections of a pool.
@Suite(.needsServer, .timeLimit(.minutes(15))) struct ConnectionLifetimeTests {
  private let schema: TemporarySchema
  init() throws { schema = try TemporarySchema() }

  private func open(_ options: [String: OptionValue]) throws -> PostgreSQLStore {
    try #require(try schema.open(PeopleModel.make(), options: options) as? PostgreSQLStore)
  }

  /// The sessions of reads and saves, one after another.
  private func sessions(of store: PostgreSQLStore) throws -> Set<UUID> {
    var sessions: Set<UUID> = []
    for _ in 0..<3 {
      sessions.insert(try store.pool.withConnection(for: .reading) { $0.session })
      sessions.insert(try store.pool.withConnection(for: .saving) { $0.session })
    }
    return sessions
  }

  @Test func `a connection beyond its lifetime is replaced, and reads and saves go on`() throws {
    let store = try open([PostgreSQLOption.connectionLifetime: 0])
    #expect(try sessions(of: store).count == 6)
    let row = try store.insert("Person", ["name": .string("old")])
    try store.save(row.update(["name": .string("new")]))
    #expect(try store.current(row)?["name"] == .string("new"))
  }

  @Test func `a connection within its lifetime is used again`() throws {
    #expect(try sessions(of: open([PostgreSQLOption.connectionLifetime: 3_600.0])).count < 3)
    #expect(try sessions(of: open([:])).count < 3)
  }

  @Test func `a lifetime below zero is refused`() throws {
    let error = #expect(throws: CoherenceError.self) { try open([PostgreSQLOption.connectionLifetime: -1]) }
    #expect(error?.code == .invalidOption)
  }
}
