import CoherenceCore

extension SQLiteStore: StateMarking {
  func stateMark(of reader: any StoreReader) throws -> StateMark? { try (reader as? SQLiteReader)?.stateMark() }

  func save(_ request: StoreSaveRequest, committed: (StateChange) -> Void) throws {
    guard states != nil else { return try save(request) }
    try save(request, derived: { change, _ in if let change { committed(change) } })
  }

  /// Runs a block in a transaction that certainly writes, but changes no rows of records, so that cached rows stay
  /// valid.
  func inTransactionWithoutRowChanges<T>(_ session: SQLiteSession, _ body: () throws -> T) throws -> T {
    var former: SQLiteLogState?
    let result = try session.inWriteTransaction {
      former = states?.index.state
      return try body()
    }
    states?.keepMark(since: former)
    return result
  }
}

extension StoreSaveRequest {
  /// Whether the save certainly changes a row: an insert adds a row, an update raises its version, and a delete removes
  /// it. A fix may set the values that a row has, and steps with links may find them added or removed already.
  var writesRows: Bool {
    steps.contains { step in
      switch step {
      case .insert(_, let rows): !rows.isEmpty
      case .update(_, _, let updates): !updates.isEmpty
      case .delete(_, let deletes): !deletes.isEmpty
      case .fix, .link, .unlink: false
      }
    }
  }
}
