import CoherenceCore
import CoherenceSQL

extension SQLiteStore: BatchCalculating {
  func batchUpdate(
    _ query: StoreQuery, values: [Int: AttributeValue], arithmetic: [Int: SlotArithmetic]
  ) throws -> [ManagedObjectID]? {
    guard let keys = try planner.batchKeys(query) else { return nil }
    let statements = BatchStatements(schema: schema)
    let update = try statements.update(query.entity, keys: keys, values: values, arithmetic: arithmetic)
    let check = try statements.overflows(query.entity, keys: keys, arithmetic: arithmetic)
    // The planner's limit for conditions leaves room for some hundred new values. Core makes an update with more
    // values.
    let counts = [update, check].compactMap { $0?.bindingCount(bindsArrays: false) }
    guard counts.allSatisfy({ $0 <= SQLiteDialect.maximumParameters }) else { return nil }
    let space = spaces[query.entity]
    return try write { session in
      do {
        return try session.inWriteTransaction {
          if let check, let slot = try session.integers(check).first {
            throw SlotArithmetic.overflow(at: Int(slot), of: query.entity)
          }
          return try session.integers(update)
        }.map { ManagedObjectID(space: space, key: $0) }
      } catch let failure as SQLiteFailure where failure.isConstraint && !arithmetic.isEmpty {
        // SQLite checks uniqueness record by record, against records that the statement has not updated yet. Core
        // updates unique values in an order without conflicts. A constant violates a constraint in every order.
        return nil
      }
    }
  }

  func batchDelete(_ query: StoreQuery) throws -> BatchDeleteOutcome? {
    guard let keys = try planner.batchKeys(query) else { return nil }
    return try write { session in
      try session.inWriteTransaction { try delete(query.entity, keys: keys, session) }
    }
  }

  /// Deletes the records with some keys, and clears the references to them. The keys are written to a temporary table
  /// first, because clearing references may change the records that the predicate matches.
  private func delete(_ entity: EntityDescription, keys: SQLFragment, _ session: SQLiteSession) throws
    -> BatchDeleteOutcome
  {
    let keyTable: SQLFragment = "\(name: "temp").\(name: SQLiteDialect.keyTable)"
    try session.run(
      "CREATE TEMP TABLE IF NOT EXISTS \(name: SQLiteDialect.keyTable) (\(name: "key") INTEGER PRIMARY KEY)")
    try session.run("DELETE FROM \(keyTable)")
    try session.run("INSERT INTO \(keyTable) \(keys)")
    let chosenKeys: SQLFragment = "SELECT \(name: "key") FROM \(keyTable)"
    let statements = BatchStatements(schema: schema)
    let cleared = try statements.clearReferences(to: entity.root, keys: chosenKeys).map { root, statement in
      (root: root, keys: try session.integers(statement))
    }
    for statement in statements.clearLeftOutReferences(to: entity, keys: chosenKeys) { try session.run(statement) }
    let deleted = try session.integers(statements.delete(entity, keys: chosenKeys))
    try session.run("DELETE FROM \(keyTable)")
    return BatchDeleteOutcome(deleting: deleted, of: entity, clearing: cleared, in: spaces)
  }
}
