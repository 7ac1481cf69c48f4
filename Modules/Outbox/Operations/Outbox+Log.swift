import CoherenceCore

extension Outbox {
  /// The greatest number of the log's records that one transaction turns into entries.
  private static let batchSize = 256

  /// Turns the log into entries, in transactions of its own. Called before a context reads entries for the first time;
  /// later saves do not appear in the context.
  ///
  /// Costs one read of an empty table when the log is empty. The log of a read-only store stays; see
  /// ``makeReadOnlyEntries(in:)``.
  ///
  /// - Parameters:
  ///   - last: The greatest sequence of the caller's interest: records of the log with greater sequences stay.
  ///   - limit: The greatest number of the log's records to turn into entries.
  /// - Returns: Whether entries were made.
  @discardableResult
  func makeEntries(through last: Int64 = .max, limit: Int = .max) throws -> Bool {
    var remaining = limit
    while remaining > 0 {
      let size = min(remaining, Self.batchSize)
      let count = try makeEntryBatch(through: last, size)
      remaining -= count
      if count < size { break }
    }
    return remaining < limit
  }

  /// Turns the first records of the log into entries, in one transaction.
  ///
  /// - Parameter size: The greatest number of records.
  /// - Returns: The number of records, including those that another context turned into entries at the same time.
  private func makeEntryBatch(through last: Int64, _ size: Int) throws -> Int {
    let entity = try coordinator.managedObjectModel.entity(named: OutboxLogRecord.entityName)
    let context = newContext()
    return try context.performAndWait {
      try context.planningAgain(afterRacesOver: entity) {
        let logs = try self.logs(through: last, size, in: context)
        guard !logs.isEmpty else { return 0 }
        do {
          try context.makeEntries(of: logs)
          try context.save()
        } catch {
          context.rollback()
          throw error
        }
        return logs.count
      }
    }
  }

  /// The first records of the log in writable stores.
  private func logs(through last: Int64, _ limit: Int, in context: ManagedObjectContext) throws -> [OutboxLogRecord] {
    var request = FetchRequest(OutboxLogRecord.self).sort(\.sequence)
    if last < .max { request = request.filter { $0.sequence <= last } }
    let readOnly = readOnlyStores
    guard !readOnly.isEmpty else { return try context.fetch(request.limit(limit)) }
    return Array(try context.fetch(request).filter { !$0.isStored(in: readOnly) }.prefix(limit))
  }

  /// The sequence of the oldest record of the log in writable stores; `nil` for an empty log.
  func firstLoggedSequence(in context: ManagedObjectContext) throws -> Int64? {
    try logs(through: .max, 1, in: context).first?.sequence
  }

  var readOnlyStores: Set<StoreIdentifier> {
    Set(coordinator.persistentStores.filter(\.environment.isReadOnly).map(\.identifier))
  }

  var hasReadOnlyStores: Bool { coordinator.persistentStores.contains { $0.environment.isReadOnly } }

  /// Turns the logs of read-only stores into unsaved entries of a context, so that the context can list them.
  func makeReadOnlyEntries(in context: ManagedObjectContext) throws {
    let readOnly = readOnlyStores
    guard !readOnly.isEmpty else { return }
    try context.makeEntries(
      of: try context.fetch(FetchRequest(OutboxLogRecord.self)).filter { $0.isStored(in: readOnly) })
  }
}

extension OutboxLogRecord {
  fileprivate func isStored(in stores: Set<StoreIdentifier>) -> Bool {
    objectID.storeIdentifier.map(stores.contains) ?? false
  }
}
