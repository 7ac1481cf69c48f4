/// The records of one store that a context locks.
struct StoreLock {
  let store: any PersistentStore
  let ids: [ManagedObjectID]
}

extension PersistentStoreCoordinator {
  /// Runs a block while no other writer can change or delete records.
  ///
  /// - Parameters:
  ///   - locks: The records of each store.
  ///   - deadline: The end of waiting for other writers; `nil` for no end but the stores' own.
  ///   - body: Receives the present rows of the records that exist.
  /// - Throws: ``ErrorCode/unsupported`` for a store that locks no records and excludes no writers.
  func lockingRows<T>(
    _ locks: [StoreLock], until deadline: ContinuousClock.Instant?, _ body: ([Row]) throws -> T
  ) throws -> T {
    // All callers lock in the same order of stores, so that two callers never wait for each other.
    let ordered = locks.sorted { $0.store.identifier.rawValue < $1.store.identifier.rawValue }
    return try lockingRows(ordered[...], until: deadline, [], body)
  }

  private func lockingRows<T>(
    _ locks: ArraySlice<StoreLock>, until deadline: ContinuousClock.Instant?, _ rows: [Row],
    _ body: ([Row]) throws -> T
  ) throws -> T {
    guard let lock = locks.first else { return try body(rows) }
    let timeout = deadline.map { max(.zero, $0 - .now) }
    return try lock.store.holdingRows(lock.ids, timeout: timeout) { locked in
      try lockingRows(locks.dropFirst(), until: deadline, rows + locked, body)
    }
  }
}

extension PersistentStore {
  /// Runs a block with locked records: the store locks the records alone, or excludes all other writers.
  fileprivate func holdingRows<T>(
    _ ids: [ManagedObjectID], timeout: Duration?, _ body: ([Row]) throws -> T
  ) throws -> T {
    if let store = self as? any RowLocking { return try store.lockingRows(ids, timeout: timeout, body) }
    guard let store = self as? any WriterExcluding else {
      throw CoherenceError(
        .unsupported,
        "A store of the type '\(environment.type.name)' cannot lock records; save with a comparison of versions, and try "
          + "again after a conflict.")
    }
    return try store.excludingWriters(timeout: timeout) { try body(try presentRows(ids)) }
  }

  /// The rows of records in the latest committed state.
  private func presentRows(_ ids: [ManagedObjectID]) throws -> [Row] {
    let reader = try makeReader()
    defer { reader.finish() }
    return try Dictionary(grouping: ids) { $0.entity.root }
      .flatMap { root, ids in try reader.rows(ids.map(\.key), of: root) }
  }
}
