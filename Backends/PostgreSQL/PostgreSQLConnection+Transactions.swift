import CoherenceCore
import CoherenceSQL

extension PostgreSQLConnection {
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
