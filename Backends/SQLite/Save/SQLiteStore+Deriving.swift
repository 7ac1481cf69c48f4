import CoherenceCore
import CoherenceSQL

extension SQLiteStore: RelationshipDeriving {
  func save(_ request: StoreSaveRequest, derived committed: (StateChange?, [Row]) -> Void) throws {
    try write { session in
      var former: SQLiteLogState?
      let rows = try save(request, session) { former = states?.index.state }
      // In the block, so that no later save of this process has changed the state of the file yet.
      committed(states?.change(since: former, hasWritten: request.writesRows), rows)
    }
    sendSignals(of: request)
  }
}

extension SQLiteSession {
  /// Computes derived values at the end of a save's transaction. SQLite allows one writer at a time, over all
  /// processes, so no other transaction changes the records in between.
  ///
  /// - Returns: The new rows of the owners whose values changed.
  /// - Throws: ``ErrorCode/arithmeticOverflow``, and errors of the file.
  func derive(_ updates: [DerivationUpdate], _ store: SQLiteStore) throws -> [Row] {
    guard !updates.isEmpty else { return [] }
    let statements = DerivationStatements(schema: store.schema, dialect: SQLiteDialect())
    var rows: [Row] = []
    for update in updates {
      let decoder = try store.rowQueries.query(for: update.entity.root).decoder
      for part in DerivationStatements.parts(of: update, keys: Self.keysInStatement) {
        do {
          try with(statements.update(part)) { statement in
            while try statement.step() { rows.append(try decoder.row(statement.handle)) }
          }
        } catch let failure as SQLiteFailure where failure.isSumOverflow {
          throw update.overflow
        }
      }
    }
    return rows
  }
}
