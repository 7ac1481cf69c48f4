import CoherenceCore
@testable import CoherenceSQLite
import Synchronization
import TestSupport
import Testing

/// The statements that a connection keeps prepared, found again by their text.
@Suite struct PreparedStatementTests {
  private let place: TemporaryStore
  private let texts: Texts
  private let store: SQLiteStore
  private let context: ManagedObjectContext

  /// The texts of the statements that read, in the order of their runs.
  private final class Texts: Sendable {
    let all = Mutex<[String]>([])
  }

  init() throws {
    place = try TemporaryStore()
    let texts = Texts()
    self.texts = texts
    let log = MessageLog { message in
      if message.hasPrefix("SELECT") { texts.all.withLock { $0.append(message) } }
    }
    let model = try ManagedObjectModel {
      Entity("Album") {
        Attribute("title", .string)
        Attribute("year", .int32)
        Attribute("price", .double)
        Relationship("tracks", toMany: "Track", inverse: "album")
      }
      Entity("Track") {
        Attribute("length", .int64)
        Relationship("album", toOne: "Album", inverse: "tracks")
      }
    }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model, logger: log.logger)
    let attached = try coordinator.addPersistentStore(type: .sqlite, at: place.url)
    store = try #require(attached as? SQLiteStore)
    context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
  }

  /// Runs a request for each predicate, each in a unit of work, and returns the different texts of the statements.
  private func statements(_ predicates: [FetchPredicate], limit: Int? = nil) throws -> Set<String> {
    texts.all.withLock { $0 = [] }
    for predicate in predicates {
      try context.performAndWait {
        var request = FetchRequest<ManagedObject>(entityName: "Album").filter(predicate).sort("title")
        request.fetchLimit = limit
        _ = try context.fetch(request)
      }
    }
    let all = texts.all.withLock { $0 }
    #expect(all.count == predicates.count)
    return Set(all)
  }

  @Test func `requests that differ in their values only send one text, which a connection prepares once`() throws {
    func formats(_ format: (Int) throws -> FetchPredicate) throws -> [FetchPredicate] { try (0..<20).map(format) }
    let kinds = [
      try formats { try FetchPredicate(format: "year == %d", $0) },
      try formats { try FetchPredicate(format: "title BEGINSWITH %@ AND price < %@", "t\($0)", Double($0) / 3) },
      try formats { try FetchPredicate(format: "title CONTAINS %@ OR year BETWEEN {%d, %d}", "\($0)", $0, $0 + 5) },
      try formats { try FetchPredicate(format: "year IN %@", [$0, $0 + 1, $0 + 2]) },
      try formats { try FetchPredicate(format: "ANY tracks.length > %d AND tracks.@sum.length < %d", $0, 10 * $0) },
    ]
    for predicates in kinds {
      let found = try statements(predicates)
      #expect(found.count == 1, "\(found)")
    }
    #expect(try statements(kinds[0], limit: 5).count == 1)
  }

  @Test func `a connection keeps the statements in use when many others come, and releases the others`() throws {
    let connection = try store.pool.acquire()
    defer { store.pool.release(connection) }
    let (isSame, isReleased) = try connection.use { session in
      func used(_ text: String) throws -> SQLiteStatement {
        let statement = try session.take(text)
        session.give(back: statement)
        return statement
      }
      let repeated = try used("SELECT 'repeated'")
      let single = try used("SELECT 'single'")
      var isSame = true
      for number in 0..<500 {
        _ = try used("SELECT \(number)")
        isSame = try used("SELECT 'repeated'") === repeated && isSame
      }
      return (isSame, try used("SELECT 'single'") !== single)
    }
    #expect(isSame)
    #expect(isReleased)
  }

  @Test func `a connection has one prepared statement for the requests with one text`() throws {
    _ = try statements((1_900..<1_920).map { .path("year", .equal, .int($0)) })
    let text = try #require(texts.all.withLock { $0.first })
    let connection = try store.pool.acquire()
    defer { store.pool.release(connection) }
    let isSame = try connection.use { session in
      let first = try session.take(text)
      let handle = first.handle
      session.give(back: first)
      let second = try session.take(text)
      defer { session.give(back: second) }
      return second.handle == handle
    }
    #expect(isSame)
  }
}
