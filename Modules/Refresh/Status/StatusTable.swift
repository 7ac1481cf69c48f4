import CoherenceCore
import Foundation

/// Reads and changes the statuses in the stores of a coordinator.
///
/// Each save compares the version of the record. When several processes change a record at the same time, one save
/// succeeds, and the other processes read the record again.
struct StatusTable: Sendable {
  /// The result of a request for a lease.
  enum Claim {
    /// The attempt may begin. Has the status before the attempt, or the new status of the first attempt.
    case granted(RefreshStatus)
    /// No attempt may begin. Has the present status, and the end of the lease or delay that prevents the attempt; `nil`
    /// if no attempt is due.
    case refused(RefreshStatus?, until: Date?)
  }

  /// The lease of an attempt.
  struct Lease: Sendable {
    /// The identifier of the attempt.
    let owner: UUID
    let start: Date
    let end: Date
  }

  /// The maximum number of saves of a record when other writers change it first.
  private static let saveLimit = 16

  /// The time after its last attempt for which the status of a read is kept at least.
  private static let readRetention = Duration.seconds(7 * 86_400)
  /// The greatest number of old statuses that one transaction deletes, and that one call deletes.
  private static let (pruningBatch, pruningLimit) = (1_000, 10_000)

  private let coordinator: PersistentStoreCoordinator
  private let pruning = ReadStatusPruning()

  /// - Throws: ``ErrorCode/invalidModel`` for a model without the entity.
  init(_ coordinator: PersistentStoreCoordinator) throws {
    self.coordinator = coordinator
    let entity = coordinator.managedObjectModel.entitiesByName[RefreshStatus.entityName]
    guard entity?.objectClass == RefreshStatusRecord.self else {
      throw CoherenceError(
        .invalidModel,
        "The model has no entity '\(RefreshStatus.entityName)' for the statuses of refreshes; make the Connect with "
          + "`model.addingRefreshStatus()`.")
    }
  }

  // MARK: Reading

  func status(_ name: StatusName) async throws -> RefreshStatus? {
    let context = makeContext()
    return try await context.perform { try record(name, in: context).map(RefreshStatus.init) }
  }

  func statuses() async throws -> [RefreshStatus] {
    let context = makeContext()
    return try await context.perform {
      let request = FetchRequest(RefreshStatusRecord.self).sort("name").sort("type").sort("scope")
      return try context.fetch(request).map(RefreshStatus.init)
    }
  }

  // MARK: Changing

  /// Saves the lease of an attempt, if the rule allows the attempt in the present status.
  func claim(_ name: StatusName, _ lease: Lease, by rule: DueRule) async throws -> Claim {
    let (claim, isNew) = try await retrying { context -> (Claim, Bool) in
      let record = try record(name, in: context)
      let status = record.map(RefreshStatus.init)
      if case .wait(let date) = rule.decide(status) { return (.refused(status, until: date), false) }
      let claimed = try record ?? insert(name, in: context)
      claimed.owner = lease.owner
      claimed.leaseEnd = lease.end
      claimed.lastAttemptTime = lease.start
      try context.save()
      return (.granted(status ?? RefreshStatus(claimed)), record == nil)
    }
    if isNew, name.type == .read { await pruneReads(of: name.entity, by: rule) }
    return claim
  }

  /// Deletes old statuses of an entity's reads, if it is time. They say no more than that the data is stale. After an
  /// error they stay until the next time.
  private func pruneReads(of entity: EntityDescription, by rule: DueRule) async {
    guard pruning.noteNewStatus(of: entity.name, at: rule.now) else { return }
    let retention = max(Self.readRetention, rule.stalenessInterval, rule.longestDelay)
    let predicate = StatusName.oldReads(of: entity, before: rule.now - retention / .seconds(1))
    let context = makeContext()
    let isComplete = try? await context.perform { () -> Bool in
      let writable = Set(coordinator.persistentStores.filter { !$0.environment.isReadOnly }.map(\.identifier))
      // A single search for all deletions, because no index finds old statuses.
      let old = try context.fetchIDs(FetchRequest(RefreshStatusRecord.self).filter(predicate))
      let ids = old.filter { $0.storeIdentifier.map(writable.contains) ?? false }
      for start in stride(from: 0, to: min(ids.count, Self.pruningLimit), by: Self.pruningBatch) {
        let batch = ids.dropFirst(start).prefix(Self.pruningBatch).map(AttributeValue.reference)
        // With the condition, because another process may have begun a read of one of the keys.
        try context.execute(
          BatchDeleteRequest(
            entityName: RefreshStatus.entityName,
            predicate: .and([predicate, .membership(.path(.own), in: batch)])))
      }
      return ids.count <= Self.pruningLimit
    }
    if isComplete == true { pruning.noteEnd(of: entity.name, at: rule.now) }
  }

  /// Extends the lease of an attempt that begins its work.
  ///
  /// - Throws: ``ErrorCode/cancelled`` when another attempt has taken over the lease.
  func renew(_ name: StatusName, _ lease: Lease, until end: Date) async throws {
    try await retrying { context in
      guard let record = try record(name, in: context), record.owner == lease.owner else {
        throw CoherenceError(
          .cancelled,
          "The refresh of '\(name.entity.name)' waited in its queue for longer than its time limit, and another "
            + "attempt has taken over.")
      }
      guard record.leaseEnd != end else { return }
      record.leaseEnd = end
      try context.save()
    }
  }

  /// Ends an attempt, and returns the new status.
  ///
  /// - Parameters:
  ///   - error: The error of a failed attempt.
  ///   - retryDelay: Returns the delay after a number of failures.
  /// - Returns: `nil` when another attempt has taken over the lease, so that nothing was changed.
  func end(
    _ name: StatusName, _ lease: Lease, error: (any Error)?, now: Date,
    retryDelay: @escaping @Sendable (Int) -> Duration
  ) async throws -> RefreshStatus? {
    try await retrying { context in
      guard let record = try record(name, in: context), record.owner == lease.owner else { return nil }
      record.owner = nil
      record.leaseEnd = nil
      if let error {
        let count = record.failureCount + 1
        record.failureCount = count
        record.lastSyncStatus = RefreshStatus.SyncStatus.failed.rawValue
        record.lastSyncError = error.logText
        record.nextAttemptTime = now + retryDelay(count) / .seconds(1)
      } else {
        record.failureCount = 0
        record.lastSyncStatus = RefreshStatus.SyncStatus.succeeded.rawValue
        record.lastSyncError = nil
        record.lastSyncTime = lease.start
        record.nextAttemptTime = nil
      }
      try context.save()
      return RefreshStatus(record)
    }
  }

  /// Releases the lease of a cancelled attempt, and saves no result.
  func release(_ name: StatusName, _ lease: Lease) async throws -> RefreshStatus? {
    try await retrying { context in
      guard let record = try record(name, in: context), record.owner == lease.owner else { return nil }
      record.owner = nil
      record.leaseEnd = nil
      try context.save()
      return RefreshStatus(record)
    }
  }

  /// Sets the cursor of a scope in a context. The caller saves the cursor together with its page.
  ///
  /// - Throws: ``ErrorCode/cancelled`` when another attempt has taken over the lease.
  func setCursor(_ cursor: String, of name: StatusName, _ owner: UUID, in context: ManagedObjectContext) throws {
    guard let record = try record(name, in: context), record.owner == owner else {
      throw name.lostLeaseError
    }
    record.cursor = cursor
  }

  // MARK: Records

  /// Makes a context for one read or save. A new context has no older values of the record.
  private func makeContext() -> ManagedObjectContext {
    let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    context.reportsFetches = false
    return context
  }

  /// Runs a block in a new context, and again when another writer has changed the record first.
  private func retrying<T: Sendable>(
    _ body: @escaping @Sendable (ManagedObjectContext) throws -> T
  ) async throws -> T {
    var saveCount = 1
    while true {
      let context = makeContext()
      do {
        return try await context.perform { try body(context) }
      } catch let error as CoherenceError where error.isRetriedAtOnce(after: saveCount, of: Self.saveLimit) {
        saveCount += 1
      }
    }
  }

  /// Returns the store for the statuses of an entity: the first store with the entity.
  private func store(for entity: EntityDescription) throws -> any PersistentStore {
    let store = coordinator.persistentStores.first { store in
      store.environment.entities.contains { $0.name == entity.name }
    }
    if let store { return store }
    throw CoherenceError(
      .noStore, "No attached store has the entity '\(entity.name)' of a refresh; attach such a store first.")
  }

  private func record(_ name: StatusName, in context: ManagedObjectContext) throws -> RefreshStatusRecord? {
    let store = try store(for: name.entity)
    return try context.fetch(FetchRequest(RefreshStatusRecord.self).filter(name.predicate))
      .first { $0.objectID.storeIdentifier == store.identifier }
  }

  private func insert(_ name: StatusName, in context: ManagedObjectContext) throws -> RefreshStatusRecord {
    let object = try context.insertNewObject(forEntityName: RefreshStatus.entityName)
    guard let record = object as? RefreshStatusRecord else {
      throw CoherenceError(.invalidModel, "The model declares '\(RefreshStatus.entityName)' with another class.")
    }
    try context.assign(record, to: store(for: name.entity))
    record.name = name.entity.name
    record.type = name.type.rawValue
    record.scope = name.scope
    return record
  }
}

extension CoherenceError {
  /// Whether a save of the refresher is tried again at once after a number of saves.
  ///
  /// After a lost race to another writer, the next save usually succeeds. After a broken connection at most two more
  /// saves follow, because the next save replaces the connection. For an unavailable server, the refresher has its
  /// back-off.
  func isRetriedAtOnce(after saveCount: Int, of limit: Int) -> Bool {
    switch code {
    case .versionConflict, .recordVanished, .uniquenessViolated, .storeBusy: saveCount < limit
    default: isRetryable && saveCount < min(3, limit)
    }
  }
}
