import CoherenceCore
import Foundation
import GRDB
import TestSupport
import Testing

@testable import CoherenceSQLite

/// Signals that cross processes by the commits of a file. The conformance suite has the signals of one process.
@Suite(.timeLimit(.minutes(15))) struct SignalTests {
  private let place: TemporaryStore
  private let model: ManagedObjectModel

  init() throws {
    place = try TemporaryStore()
    model = try ManagedObjectModel { Entity("Thing") { Attribute("name", .string) } }
  }

  private func open() throws -> SQLiteStore { try #require(try place.open(model) as? SQLiteStore) }

  @Test func `a commit of another program is a signal of every channel`() async throws {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(type: .sqlite, at: place.url)
    var jobs = coordinator.signals("jobs").makeAsyncIterator()
    var mail = coordinator.signals("mail").makeAsyncIterator()
    _ = await (jobs.next(), mail.next())
    let other = try OtherProgram(place.path)
    try other.run("PRAGMA user_version = 0")
    #expect(await jobs.next() != nil)
    #expect(await mail.next() != nil)
    try other.close()
  }

  @Test func `a store that only reads notices the commits of other programs`() async throws {
    let writer = try open()
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(type: .sqlite, at: place.url, options: [StoreOption.readOnly: true])
    var jobs = coordinator.signals("jobs").makeAsyncIterator()
    _ = await jobs.next()
    try writer.insert("Thing", ["name": .string("a")])
    #expect(await jobs.next() != nil)
  }

  @Test func `only commits of other programs change the watched data version`() throws {
    let store = try open()
    let file = try store.writableFile()
    let before = try file.dataVersion()
    try store.insert("Thing", ["name": .string("a")])
    try store.signal("jobs")
    #expect(try file.dataVersion() == before)
    let other = try OtherProgram(place.path)
    try other.run("PRAGMA user_version = 0")
    #expect(try file.dataVersion() != before)
    try other.close()
  }

  @Test func `a signal without a save is a commit that other programs notice`() throws {
    let store = try open()
    let other = try DatabaseQueue(path: place.path)
    func version() throws -> Int64? { try other.read { try Int64.fetchOne($0, sql: "PRAGMA data_version") } }
    let before = try version()
    try store.signal("jobs")
    #expect(try version() != before)
  }

  @Test func `a signal in a block that excludes other writers does not end the exclusion`() throws {
    let store = try open()
    try store.excludingWriters {
      try store.signal("jobs")
      #expect(store.isExcludingWriters)
      try store.insert("Thing", ["name": .string("a")])
    }
    #expect(try store.fetch("Thing").count == 1)
  }

  @Test func `a claim of more records than a statement takes keys claims all of them`() throws {
    let store = try open()
    let rows = try (0..<9_000).map { try store.row("Thing", ["name": .string("\($0)")]) }
    try store.save(.insert(store.entity("Thing"), rows))
    let thing = store.entity("Thing")
    let query = StoreQuery(
      entity: thing, predicate: .path("name", .notEqual, .string("taken")), sortKeys: [SortKey("name")], limit: 8_500)
    let slot = try #require(thing.attribute(named: "name")).slot
    let claimed = try #require(try store.claim(query, setting: [slot: .string("taken")]))
    #expect(claimed.count == 8_500)
    #expect(claimed.allSatisfy { $0.version == 2 && $0[slot] == .string("taken") })
    #expect(try store.fetch("Thing", where: .path("name", .equal, .string("taken"))).count == 8_500)
  }
}
