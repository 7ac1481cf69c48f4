import CoherenceCore

extension Outbox {
  /// The greatest number of the log's records that one transaction turns into entries.
  private static let batchSize = 256

  /// Turns the log into entries, in transactions of its own. Called before a context reads entries for the first time;
  /// later saves do not appear in the context.
  ///
  /// Costs one read of an empty table when the log is empty. The log of a read-only store stays; see
  /// ``makeReadOnlyEntries(in:)``. An unreadable record of the log stays too; see ``unreadableLog(_:in:)``.
  ///
  /// - Parameters:
  ///   - last: The greatest sequence of the caller's interest: records of the log with greater sequences stay.
  ///   - limit: The greatest number of the log's records to turn into entries.
  ///   - stores: The stores whose logs become entries; `nil` for all stores.
  /// - Returns: Whether entries were made.
  @discardableResult
  func makeEntries(
    through last: Int64 = .max, limit: Int = .max, in stores: Set<StoreIdentifier>? = nil
  ) throws -> Bool {
    let size = min(limit, Self.batchSize)
    var (count, made) = try makeEntryBatch(in: stores) { try self.logs(through: last, size, in: $0) }
    guard count == size, count < limit else { return made > 0 }
    // No index orders the log, so that a search for the next batch reads the whole log. A long log is listed once.
    let ids = try logIDs(through: last, in: stores).prefix(limit - count)
    for start in stride(from: 0, to: ids.count, by: Self.batchSize) {
      let batch = ids.dropFirst(start).prefix(Self.batchSize).map(AttributeValue.reference)
      let request = logRequest(through: last).filter(.membership(.path(.own), in: batch))
      made += try makeEntryBatch(in: stores) { try $0.fetch(request) }.made
    }
    return made > 0
  }

  /// Turns some records of the log into entries, in one transaction.
  ///
  /// - Parameter read: Returns the records. Called again when another context has turned them into entries.
  /// - Returns: The number of records, and the number of those that could be read.
  private func makeEntryBatch(
    in stores: Set<StoreIdentifier>?, _ read: (ManagedObjectContext) throws -> [OutboxLogRecord]
  ) throws -> (count: Int, made: Int) {
    let entity = try coordinator.managedObjectModel.entity(named: OutboxLogRecord.entityName)
    let context = newContext(in: stores)
    return try context.performAndWait {
      try context.planningAgain(afterRacesOver: entity) {
        let logs = try read(context)
        guard !logs.isEmpty else { return (0, 0) }
        do {
          let made = try context.makeEntries(of: logs)
          try context.save()
          return (logs.count, made)
        } catch {
          context.rollback()
          throw error
        }
      }
    }
  }

  /// The identifiers of the log's records in writable stores, in the order of the records.
  private func logIDs(through last: Int64, in stores: Set<StoreIdentifier>?) throws -> [ManagedObjectID] {
    let context = newContext(in: stores)
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

  /// The sequence of the oldest readable record of the log in writable stores, and the unreadable records.
  ///
  /// Reads one record unless that cannot be read, or a store is read-only. The unreadable records behind a readable one
  /// may be missing.
  func logStart(in context: ManagedObjectContext) throws -> (first: Int64?, unreadable: [LoggedSave]) {
    let readOnly = readOnlyStores
    if readOnly.isEmpty {
      let log = try logs(through: .max, 1, in: context).first
      if log?.changes != nil || log == nil { return (log?.sequence, []) }
    }
    var first: Int64?
    let unreadable = try context.forEachLoggedChange { _, save in
      if !save.id.isStored(in: readOnly) { first = min(first ?? save.sequence, save.sequence) }
    }
    return (first, unreadable)
  }

  var readOnlyStores: Set<StoreIdentifier> {
    Set(coordinator.persistentStores.filter(\.environment.isReadOnly).map(\.identifier))
  }

  var hasReadOnlyStores: Bool { coordinator.persistentStores.contains { $0.environment.isReadOnly } }

  /// Turns the logs of read-only stores into unsaved entries of a context, so that the context can list them. Skips the
  /// unreadable records.
  func makeReadOnlyEntries(in context: ManagedObjectContext) throws {
    let readOnly = readOnlyStores
    guard !readOnly.isEmpty else { return }
    try context.makeEntries(
      of: try context.fetch(FetchRequest(OutboxLogRecord.self)).filter { $0.objectID.isStored(in: readOnly) })
  }
}

// MARK: - Unreadable records

extension Outbox {
  /// The record of the log with the identifier of an entry, if the record cannot be read. The list of parked entries
  /// shows the record as an entry until a person drops it.
  func unreadableLog(_ id: ManagedObjectID, in context: ManagedObjectContext) throws -> OutboxLogRecord? {
    guard id.entity.name == OutboxLogRecord.entityName else { return nil }
    return try context.objects(for: [id], as: OutboxLogRecord.self).first { $0.changes == nil }
  }

  /// Whether the list of some recorded entity names has the unreadable records of the log.
  static func listsUnreadableLogs(under names: [String]?) -> Bool {
    names?.contains(OutboxLogRecord.entityName) ?? true
  }
}

extension ManagedObjectID {
  fileprivate func isStored(in stores: Set<StoreIdentifier>) -> Bool {
    storeIdentifier.map(stores.contains) ?? false
  }
}
