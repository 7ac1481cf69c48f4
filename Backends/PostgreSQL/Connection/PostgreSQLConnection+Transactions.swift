import CoherenceCore
import CoherenceSQL
import Foundation

extension PostgreSQLConnection {
  private static let maximumAttempts = 5

  /// Runs a block that begins a writing transaction. A standby refuses the transaction as an unsupported feature.
  ///
  /// - Throws: Also ``ErrorCode/storeReadOnly``. The connection is not used again then, because a new connection may
  ///   reach the primary.
  func beginningToWrite<T>(_ body: () throws -> T) throws -> T {
    do {
      return try body()
    } catch let error as CoherenceError {
      guard let failure = error.serverFailure, failure.isUnsupportedFeature else { throw error }
      isOutdated = true
      throw CoherenceError(
        .storeReadOnly,
        "The PostgreSQL server is a standby, which forbids writing; connect to the primary, or try again after the "
          + "failover.", underlying: failure, isRetryable: true)
    }
  }

  /// Runs a block that makes a transaction, and repeats it a few times after a serialization failure or a deadlock, of
  /// which nothing was applied. A transaction of a failed block is rolled back.
  ///
  /// - Parameter duration: The time from the first attempt on in which the block is repeated any number of times.
  func repeatingTransaction<T>(for duration: Duration = .zero, _ body: () throws -> T) throws -> T {
    let end = ContinuousClock.now + duration
    var attempt = 1
    while true {
      do {
        return try body()
      } catch {
        rollBack()
        guard error.serverFailure?.isSerializationFailure == true,
          attempt < Self.maximumAttempts || ContinuousClock.now < end
        else { throw error }
        // A random delay keeps the conflicting transactions from meeting again.
        Thread.sleep(forTimeInterval: .random(in: 0.5...1) * 0.01 * Double(1 << attempt))
        attempt = min(attempt + 1, Self.maximumAttempts)
      }
    }
  }

  /// Rolls back the open transaction, if any. After a failure, the connection is not used again.
  func rollBack() {
    guard !isBroken else { return }
    _ = try? within(.seconds(10)) { try run(.rollback) }
  }

  /// Rolls back to a savepoint. Repeats a failed rollback, because a late cancellation of an earlier statement may hit
  /// this statement instead.
  func rollBack(to savepoint: PostgreSQLSavepoint) throws {
    try uninterrupted {
      do {
        try run(savepoint.rollback)
      } catch {
        try run(savepoint.rollback)
      }
    }
  }

  /// Cancels the running statement, and rolls back to the savepoint before the statement.
  func cancel(rollingBackTo savepoint: PostgreSQLSavepoint) throws {
    try cancel()
    try discardResponses()
    try rollBack(to: savepoint)
  }
}
