import CoherenceCore
@testable import CoherenceSQLite
import Synchronization
import TestSupport
import Testing

/// The length of a file's write-ahead log. SQLite's own checkpoints are switched off, because they shorten the log at a
/// moment without readers, which a busy program does not have.
@Suite(.timeLimit(.minutes(15))) struct LogLengthTests {
  private let place: TemporaryStore
  private let store: SQLiteStore
  private static let limit = 100

  init() throws {
    place = try TemporaryStore()
    store = try #require(try place.open(PeopleModel.make()) as? SQLiteStore)
    try store.write { try $0.execute("PRAGMA wal_autocheckpoint = 0") }
    try store.writableFile().longLog.store(Self.limit, ordering: .relaxed)
  }

  private func frameCount() throws -> Int { try #require(store.states?.index.state).frameCount }

  @Test func `the log of a file does not grow with the number of saves`() throws {
    var greatest = 0
    for _ in 0..<200 {
      try store.insert("Person")
      greatest = try max(greatest, frameCount())
    }
    #expect(greatest >= Self.limit)
    #expect(greatest < 2 * Self.limit)
    #expect(try store.fetch("Person").count == 200)
  }

  @Test func `a reader keeps its state while saves cannot shorten the log, and the log is shortened after its end`()
    throws
  {
    try store.insert("Person")
    let people = StoreQuery(entity: store.entity("Person"))
    let reader = try store.makeReader()
    #expect(try reader.all(people).count == 1)
    var count = 1
    while try frameCount() < 2 * Self.limit {
      try store.insert("Person")
      count += 1
    }
    #expect(try reader.all(people).count == 1)
    reader.finish()
    while try frameCount() >= Self.limit {
      try store.insert("Person")
      count += 1
    }
    #expect(try store.fetch("Person").count == count)
  }
}
