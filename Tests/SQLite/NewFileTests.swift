import CoherenceCore
import CoherenceSQL
import Dispatch
import Foundation
import GRDB
import TestSupport
import Testing

@testable import CoherenceSQLite

/// New files that several processes open at the same time, and files that make room for new ones.
@Suite struct NewFileTests {
  private let place: TemporaryStore
  private let model: ManagedObjectModel

  init() throws {
    place = try TemporaryStore()
    model = try ManagedObjectModel { Entity("Thing") { Attribute("name", .string) } }
  }

  @Test func `the opening of a new file waits while another process begins to write the file`() throws {
    #expect(try SQLiteFile.create(place.path))
    let other = try DatabaseQueue(path: place.path)
    try other.inDatabase { database in
      try database.execute(sql: "BEGIN IMMEDIATE")
      let begin = ContinuousClock.now
      let error = #expect(throws: CoherenceError.self) {
        _ = try place.open(model, options: [SQLiteOption.busyTimeout: 0.05])
      }
      #expect(ContinuousClock.now - begin >= .milliseconds(50))
      #expect(error?.code == .storeBusy)
      try database.execute(sql: "ROLLBACK")
    }
    let store = try place.open(model)
    #expect(try store.fetch("Thing").isEmpty)
  }

  @Test func `a failed opening removes no new file that another process has begun to write`() throws {
    let environment = place.environment(model, options: [SQLiteOption.busyTimeout: 0.01])
    let options = try SQLiteOptions(environment)
    var configuration = Configuration()
    configuration.allowsUnsafeTransactions = true
    var other: DatabaseQueue?
    let error = #expect(throws: CoherenceError.self) {
      _ = try SQLiteFile.shared(path: place.path, options: options, logger: environment.logger) {
        let queue = try DatabaseQueue(path: place.path, configuration: configuration)
        try queue.inDatabase { try $0.execute(sql: "BEGIN IMMEDIATE; CREATE TABLE other (a)") }
        other = queue
      }
    }
    #expect(error?.code == .storeBusy)
    try #require(other).inDatabase { try $0.execute(sql: "COMMIT") }
    let later = try DatabaseQueue(path: place.path)
    #expect(try later.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM other") } == 0)
  }

  @Test func `a cancelled opening removes no new file that another process has begun to write`() async throws {
    let environment = place.environment(model)
    let (path, options, logger) = (place.path, try SQLiteOptions(environment), environment.logger)
    try await Task {
      withUnsafeCurrentTask { $0?.cancel() }
      var other: OtherProgram?
      let error = #expect(throws: CoherenceError.self) {
        _ = try SQLiteFile.shared(path: path, options: options, logger: logger) {
          other = try OtherProgram(path, keepsTransactions: true)
          try other?.run("BEGIN IMMEDIATE; CREATE TABLE other (a)")
        }
      }
      #expect(error?.code == .cancelled)
      try #require(other).run("COMMIT")
    }.value
    try OtherProgram(path).run("SELECT a FROM other")
  }

  @Test func `a file is opened while another thread waits in the opening of another file`() throws {
    let environment = place.environment(model)
    let options = try SQLiteOptions(environment)
    let other = try TemporaryStore()
    // The opening of the first file lasts as long as the block.
    _ = try SQLiteFile.shared(path: place.path, options: options, logger: environment.logger) {
      _ = try SQLiteFile.shared(path: other.path, options: options, logger: environment.logger)
      #expect(FileManager.default.fileExists(atPath: other.path))
    }
  }

  @Test func `a new file that no process uses is removed after a failed opening`() throws {
    struct Refusal: Error {}
    let environment = place.environment(model)
    let options = try SQLiteOptions(environment)
    #expect(throws: Refusal.self) {
      _ = try SQLiteFile.shared(path: place.path, options: options, logger: environment.logger) { throw Refusal() }
    }
    #expect(!FileManager.default.fileExists(atPath: place.path))
  }

  @Test func `a file is erased after the last operation of its closed store`() throws {
    let store = try #require(try place.open(model) as? SQLiteStore)
    let hasBegun = DispatchSemaphore(value: 0)
    let hasEnded = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      // Lasts longer than the close of the store.
      _ = try? store.write { session in
        hasBegun.signal()
        return try session.integers(
          """
          WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1000000) \
          SELECT COUNT(*) FROM numbers
          """)
      }
      hasEnded.signal()
    }
    hasBegun.wait()
    store.close()
    try SQLiteStoreFactory().erase(place.environment(model))
    hasEnded.wait()
    for suffix in ["", "-wal", "-shm"] {
      #expect(!FileManager.default.fileExists(atPath: place.path + suffix))
    }
  }

  @Test func `a directory is neither erased nor set aside in place of a file`() throws {
    let inner = place.directory.appendingPathComponent("inner", isDirectory: true)
    try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: true)
    let kept = inner.appendingPathComponent("kept")
    try Data("text".utf8).write(to: kept)
    // Without a slash at its end, the URL does not show that it names a directory.
    let url = place.directory.appendingPathComponent("inner", isDirectory: false)
    let environment = StoreEnvironment(type: .sqlite, url: url, model: model)
    let factory = SQLiteStoreFactory()
    #expect { try factory.erase(environment) } throws: { ErrorCode.storeInaccessible ~= $0 }
    #expect { try factory.setAside(environment) } throws: { ErrorCode.storeInaccessible ~= $0 }
    #expect(FileManager.default.contents(atPath: kept.path) == Data("text".utf8))
  }

  @Test func `a read that another process keeps from the log is retryable`() {
    // SQLITE_PROTOCOL, after some hundred attempts.
    let failure = SQLiteFailure(code: 15, message: "locking protocol")
    let error = SQLiteErrorTranslator(path: place.path).coherenceError(failure)
    #expect(error.code == .storeBusy)
    #expect(error.isRetryable)
  }
}
