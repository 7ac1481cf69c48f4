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
    let size = min(limit, Self.batchSize)
    let count = try makeEntryBatch { try self.logs(through: last, size, in: $0) }
    guard count == size, count < limit else { return count > 0 }
    // No index orders the log, so that a search for the next batch reads the whole log. A long log is listed once.
    let ids = try logIDs(through: last).prefix(limit - count)
    for start in stride(from: 0, to: ids.count, by: Self.batchSize) {
      let batch = ids.dropFirst(start).prefix(Self.batchSize).map(AttributeValue.reference)
      let request = logRequest(through: last).filter(.membership(.path(.own), in: batch))
      _ = try makeEntryBatch { try $0.fetch(request) }
    }
    return true
  }

  /// Turns some records of the log into entries, in one transaction.
  ///
  /// - Parameter read: Returns the records. Called again when another context has turned them into entries.
  /// - Returns: The number of records.
  private func makeEntryBatch(_ read: (ManagedObjectContext) throws -> [OutboxLogRecord]) throws -> Int {
    let entity = try coordinator.managedObjectModel.entity(named: OutboxLogRecord.entityName)
    let context = newContext()
    return try context.performAndWait {
      try context.planningAgain(afterRacesOver: entity) {
        let logs = try read(context)
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

  /// The identifiers of the log's records in writable stores, in the order of the records.
  private func logIDs(through last: Int64) throws -> [ManagedObjectID] {
    let context = newContext()
    let ids = try context.performAndWait { try context.fetchIDs(self.logRequest(through: last)) }
    let readOnly = readOnlyStores
    return ids.filter { !$0.isStored(in: readOnly) }
  }

  private func logRequest(through last: Int64) -> FetchRequest<OutboxLogRecord> {
    let request = FetchRequest(OutboxLogRecord.self).sort(\.sequence)
    return last < .max ? request.filter { $0.sequence <= last } : request
  }

  /// The first records of the log in writable stores.
  private func logs(through last: Int64, _ limit: Int, in context: ManagedObjectContext) throws -> [OutboxLogRecord] {
    let request = logRequest(through: last)
    let readOnly = readOnlyStores
    guard !readOnly.isEmpty else { return try context.fetch(request.limit(limit)) }
    return Array(try context.fetch(request).filter { !$0.objectID.isStored(in: readOnly) }.prefix(limit))
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
      of: try context.fetch(FetchRequest(OutboxLogRecord.self)).filter { $0.objectID.isStored(in: readOnly) })
  }
}

extension ManagedObjectID {
  fileprivate func isStored(in stores: Set<StoreIdentifier>) -> Bool {
    storeIdentifier.map(stores.contains) ?? false
  }
}
