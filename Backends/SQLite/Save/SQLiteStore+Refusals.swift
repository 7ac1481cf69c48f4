import CoherenceCore
import CoherenceSQL

// Explanations of refused saves, made after the save was rolled back.

extension SQLiteSave {
  /// Returns the error of a refused save, which was rolled back before: a version conflict if a record has another
  /// version, otherwise SQLite's failure. A version conflict comes first, because Core can resolve it.
  func explanation(of refusal: Refusal) throws -> any Error {
    let conflicts = try session.inReadTransaction { try request.conflicts { try row($0) } }
    guard conflicts.isEmpty, let failure = refusal.failure else {
      return try StoreConflict.Failure(conflicts: conflicts, found: [refusal.id].compactMap { $0 }) { id in
        try session.inReadTransaction { try row(id) }
      }
    }
    if failure.code == SQLiteCode.foreignKey, let id = refusal.id,
      let reference = try session.inReadTransaction({ try referenceRetaining(id) })
    {
      return CoherenceError.deleteRetained(id, by: reference)
    }
    return try session.inReadTransaction { try explanation(of: failure, refusal) }
  }

  /// SQLite's failure with the names of the model.
  private func explanation(of failure: SQLiteFailure, _ refusal: Refusal) throws -> CoherenceError {
    var error = store.errors.coherenceError(failure)
    error.objectIDs = [refusal.id].compactMap { $0 }
    guard error.code == .uniquenessViolated, let row = refusal.row else { return error }
    guard failure.code == SQLiteCode.unique else {
      // Another program has inserted a row with a reserved key, and may have taken the next keys too.
      store.keys.discard(of: row.entity.root)
      error.message = CoherenceError.takenKeyMessage(of: row.entity)
      return error
    }
    guard var violation = try violation(by: row) else { return error }
    violation.underlying = error.underlying
    return violation
  }

  /// The error that names the stored record with the row's unique values, and the properties. SQLite does not report
  /// the index that refused the row.
  private func violation(by row: Row) throws -> CoherenceError? {
    guard let table = store.schema.table(for: row.entity) else { return nil }
    for values in table.indexes.compactMap({ UniqueValues(of: row, in: $0, of: table) }) {
      let violation = values.violation(in: request, holder: try session.integers(values.holder).first)
      if violation.objectIDs.count > 1 { return violation }
    }
    return nil
  }

  /// The left-out reference that keeps a record from being deleted.
  private func referenceRetaining(_ id: ManagedObjectID) throws -> SQLLeftOutReference? {
    try store.schema.leftOutReferences(to: id.entity).first { reference in
      try reference.retainsTarget
        && !session.integers(
          "SELECT 1 FROM \(name: reference.table) WHERE \(name: reference.column) = \(key: id.key) LIMIT 1"
        ).isEmpty
    }
  }

  private func row(_ id: ManagedObjectID) throws -> Row? {
    let query = try store.rowQueries.query(for: id.entity)
    let statement = try session.rowStatement(id.entity, query.text)
    defer { statement.reset() }
    try statement.bind(id.key, at: 1)
    return try statement.step() ? query.decoder.row(statement.handle) : nil
  }
}
