import CoherenceCore
import CoherenceSQL

extension PostgreSQLConnection {
  /// Ends the transaction, if any, and keeps nothing of it. A connection on which this fails is not used again.
  func rollBack() {
    guard !isBroken else { return }
    _ = try? within(.seconds(10)) { try run(.rollback) }
  }

  /// Takes a transaction back to a savepoint. A cancellation too late for its statement may hit this one instead, so a
  /// second try follows.
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
