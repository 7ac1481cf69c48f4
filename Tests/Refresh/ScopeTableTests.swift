import CoherenceActions
import CoherenceCore
import CoherenceStrategies
import Testing

@testable import CoherenceRefresh

@Suite struct ScopeTableTests {
  @Test func `only a change between started and stopped returns the lists to start or to stop`() async throws {
    let program = try Place().program()
    let table = program.refresher.scopes
    try program.refresher.register(list: Song.self) { _ in }
    for isStarted in [true, false] {
      #expect(table.setStarted(isStarted).count == 1)
      #expect(table.isStarted == isStarted)
      #expect(table.setStarted(isStarted).isEmpty)
      #expect(table.isStarted == isStarted)
    }
    try await program.end()
  }

  @Test func `concurrent reads of a key share a scope, and a later read has a scope of its own`() async throws {
    let program = try Place().program()
    let (table, stack) = (program.refresher.scopes, program.refresher.stack)
    try program.refresher.register(read: Song.self) { _ in }
    let song = try program.connect.persistentStoreCoordinator.managedObjectModel.entity(named: "Song")
    let name = StatusName(song, .read, scope: "7")
    let first = try await table.reading(name, in: stack) { first in
      let concurrent = try await table.reading(name, in: stack) { $0 }
      #expect(concurrent === first)
      return first
    }
    let later = try await table.reading(name, in: stack) { $0 }
    #expect(later !== first)
    try await program.end()
  }

  @Test func `a read stays in the table until its last call has ended`() async throws {
    let program = try Place().program()
    let (table, stack) = (program.refresher.scopes, program.refresher.stack)
    try program.refresher.register(read: Song.self) { _ in }
    let song = try program.connect.persistentStoreCoordinator.managedObjectModel.entity(named: "Song")
    let name = StatusName(song, .read, scope: "7")
    try await table.reading(name, in: stack) { scope in
      try await table.reading(name, in: stack) { _ in }
      #expect(table.all.contains { $0 === scope })
    }
    #expect(table.all.isEmpty)
    try await program.end()
  }

  @Test func `a start concerns the lists alone, and a stop also the running reads`() async throws {
    let program = try Place().program()
    let (table, stack) = (program.refresher.scopes, program.refresher.stack)
    try program.refresher.register(read: Song.self) { _ in }
    let song = try program.connect.persistentStoreCoordinator.managedObjectModel.entity(named: "Song")
    try await table.reading(StatusName(song, .read, scope: "7"), in: stack) { scope in
      #expect(table.setStarted(true).isEmpty)
      #expect(table.setStarted(false).contains { $0 === scope })
    }
    try await program.end()
  }
}
