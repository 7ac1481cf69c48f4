import CoherenceCore
import CoherenceSQL

extension PostgreSQLStore {
  func save(_ request: StoreSaveRequest) throws { try save(request, derived: { _, _ in }) }

  func save(_ request: StoreSaveRequest, derived committed: (StateChange?, [Row]) -> Void) throws {
    committed(nil, try saveReturningDerived(request))
  }

  private func saveReturningDerived(_ request: StoreSaveRequest) throws -> [Row] {
    try pool.checkIsOpen()
    guard !request.steps.isEmpty else { return [] }
    if let connection = pool.ownLocking { return try save(request, lockingOn: connection) }
    return try write(endsReading: true) { connection in
      do {
        return try save(request, on: connection, in: .new)
      } catch let refusal as SaveRefusal {
        throw try explanation(of: refusal, in: request, on: connection)
      }
    }
  }

  /// Saves in a transaction: many rows of a step by one statement or a COPY first, and row by row after a failure that
  /// names no row.
  ///
  /// - Returns: The new rows of the owners whose derived values changed.
  /// - Throws: ``SaveRefusal``, and errors of the connection.
  func save(
    _ request: StoreSaveRequest, on connection: PostgreSQLConnection, in start: PostgreSQLTransaction.Start
  ) throws -> [Row] {
    func run(inBulk: Bool) throws -> [Row] {
      try PostgreSQLTransaction.run(on: connection, of: self, in: start) { transaction in
        var save = PostgreSQLSave(request, store: self, connection: connection)
        return try save.execute(in: &transaction, inBulk: inBulk)
      }
    }
    do {
      return try run(inBulk: true)
    } catch let refusal as SaveRefusal where refusal.subjects.isEmpty {
      // The failure of a statement for many rows does not name the row. A save row by row finds the row.
      return try run(inBulk: false)
    }
  }
}
