import CoherenceCore

extension Outbox {
  /// The greatest number of records of the log whose entries one transaction makes.
  private static let batch = 256

  /// Makes the entries of the log, in transactions of their own. Called before the first read of a context that reads
  /// entries; saves that commit afterwards count as later.
  ///
  /// Costs one read of an empty table when the log is empty. The log of a store that cannot be written stays; see
  /// ``makeReadOnlyEntries(in:)``.
  ///
  /// - Parameters:
  ///   - last: The greatest sequence of interest.
  ///   - limit: The greatest number of records of the log whose entries are made.
  /// - Returns: Whether entries were made.
  @discardableResult
  func makeEntries(through last: Int64 = .max, limit: Int = .max) throws -> Bool {
    var rest = limit
    while rest > 0 {
      let size = min(rest, Self.batch)
      let count = try makeEntryBatch(through: last, size)
      rest -= count
      if count < size { break }
    }
    return rest < limit
  }

  /// - Returns: The number of records of the log whose entries were made, by this context or meanwhile by another one.
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

  /// The first records of the log in stores that can be written.
  private func logs(through last: Int64, _ limit: Int, in context: ManagedObjectContext) throws -> [OutboxLogRecord] {
    var request = FetchRequest(OutboxLogRecord.self).sort(\.sequence)
    if last < .max { request = request.filter { $0.sequence <= last } }
    let readOnly = readOnlyStores
    guard !readOnly.isEmpty else { return try context.fetch(request.limit(limit)) }
    return Array(try context.fetch(request).filter { !$0.isStored(in: readOnly) }.prefix(limit))
  }

  private var readOnlyStores: Set<StoreIdentifier> {
    Set(coordinator.persistentStores.filter(\.environment.isReadOnly).map(\.identifier))
  }

  var hasReadOnlyStores: Bool { coordinator.persistentStores.contains { $0.environment.isReadOnly } }

  /// Makes the entries of logs in stores that cannot be written, as unsaved objects of a context that lists them.
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
