import CoherenceCore
import CoherenceSQL

extension PostgreSQLStore: BatchCalculating {
  func batchUpdate(
    _ query: StoreQuery, values: [Int: AttributeValue], arithmetic: [Int: SlotArithmetic]
  ) throws -> [ManagedObjectID]? {
    guard let keys = try planner.batchKeys(query) else { return nil }
    let statements = BatchStatements(schema: schema)
    let space = spaces[query.entity]
    do {
      return try transaction(choosing: keys, of: query.entity, isLocking: !arithmetic.isEmpty) { chosen, connection in
        if let check = try statements.overflows(query.entity, keys: chosen, arithmetic: arithmetic),
          let slot = try connection.run(check).integers.first
        {
          throw SlotArithmetic.overflow(at: Int(slot), of: query.entity)
        }
        let update = try statements.update(query.entity, keys: chosen, values: values, arithmetic: arithmetic)
        return try connection.run(update).integers.sorted().map { ManagedObjectID(space: space, key: $0) }
      }
    } catch let error as CoherenceError where !arithmetic.isEmpty {
      // The server checks uniqueness record by record, against records that the statement has not updated yet. Core
      // updates unique values in an order without conflicts.
      guard error.serverFailure?.isConstraintViolation == true else { throw error }
      return nil
    }
  }

  func batchDelete(_ query: StoreQuery) throws -> BatchDeleteOutcome? {
    guard let keys = try planner.batchKeys(query) else { return nil }
    let statements = BatchStatements(schema: schema)
    return try transaction(choosing: keys, of: query.entity) { chosen, connection in
      let clearing = statements.clearReferences(to: query.entity.root, keys: chosen)
      let results = try connection.run(
        clearing.map(\.statement) + statements.clearLeftOutReferences(to: query.entity, keys: chosen)
          + [statements.delete(query.entity, keys: chosen)])
      return BatchDeleteOutcome(
        deleting: results.last?.integers ?? [], of: query.entity,
        clearing: zip(clearing, results).map { (root: $0.root, keys: $1.integers) }, in: spaces)
    }
  }

  /// Runs a block in a transaction, with the keys of the records that a statement selects at the beginning. The records
  /// are selected only once, because the block's changes may change which records a predicate finds.
  ///
  /// - Parameter isLocking: Whether the records are locked in their latest state, in one order for all writers, so that
  ///   concurrent transactions wait for each other. Otherwise the block is repeated after a concurrent change of a
  ///   record. The transaction with locks of this thread is not repeated, and always locks the records: each of its
  ///   statements sees later commits, so that a chosen record might not satisfy the predicate any more.
  private func transaction<T>(
    choosing keys: SQLFragment, of entity: EntityDescription, isLocking: Bool = false,
    _ body: (SQLFragment, PostgreSQLConnection) throws -> T
  ) throws -> T {
    let isLocking = isLocking || pool.ownLocking != nil
    let key = SQLFragment.column(SQLTable.id, of: "t")
    let locking: SQLFragment = isLocking ? " ORDER BY \(key) FOR NO KEY UPDATE OF \(name: "t")" : ""
    let statement = (keys + locking).rendered(by: PostgreSQLDialect())
    let tableLock = try tableOrder.lockStatement(forBatchOn: entity)
    let statements = BatchStatements(schema: schema)
    return try transaction(isLocking ? .readCommitted : .repeatableRead) { transaction, connection in
      let chosen = try transaction.begin(with: statement, locking: tableLock).integers
      return try body(try statements.selection(of: chosen, entity), connection)
    }
  }
}
