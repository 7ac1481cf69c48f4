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
  func rollBack(to savepoint: String) throws {
    let statement = PostgreSQLText("ROLLBACK TO \(savepoint)", isControl: true)
    try uninterrupted {
      do {
        try run(statement)
      } catch {
        try run(statement)
      }
    }
  }
}
