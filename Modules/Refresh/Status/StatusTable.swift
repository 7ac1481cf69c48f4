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
    /// The beginning of the attempt.
    let start: Date
    /// The time until which no other attempt begins.
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

  /// Returns the status of a scope; `nil` before its first attempt.
  func status(_ name: StatusName) async throws -> RefreshStatus? {
    let context = makeContext()
    return try await context.perform { try record(name, in: context).map { status(name, $0) } }
  }

  /// Returns all statuses, sorted by name, type and scope.
  func statuses() async throws -> [RefreshStatus] {
    let context = makeContext()
    return try await context.perform {
      let request = FetchRequest(RefreshStatusRecord.self).sort("name").sort("type").sort("scope")
      return presentStatuses(try context.fetch(request))
    }
  }

  private func status(_ name: StatusName, _ record: RefreshStatusRecord) -> RefreshStatus {
    RefreshStatus(record, named: name.entity.name)
  }

  // MARK: Changing

  /// Saves the lease of an attempt, if the rule allows the attempt in the present status.
  ///
  /// - Throws: Errors of the store. An error with the outcome `unknown` may leave the lease in the store.
  func claim(_ name: StatusName, _ lease: Lease, by rule: DueRule) async throws -> Claim {
    let (claim, isNew) = try await retrying { context -> (Claim, Bool) in
      let record = try record(name, in: context)
      let status = record.map { self.status(name, $0) }
      if case .wait(let date) = rule.decide(status, leasedBy: record?.owner) {
        return (.refused(status, until: date), false)
      }
      let claimed = try record ?? insert(name, in: context)
      // After a rename of the entity. A later entity may get the former name, and must not get the status.
      if claimed.name != name.entity.name { claimed.name = name.entity.name }
      claimed.owner = lease.owner
      claimed.leaseEnd = lease.end
      claimed.lastAttemptTime = lease.start
      try context.save()
      return (.granted(status ?? self.status(name, claimed)), record == nil)
    }
    if isNew, name.type == .read { await pruneReads(of: name.entity, by: rule) }
    return claim
  }

  /// Deletes the old statuses of an entity's reads, if the deletion is due; see ``ReadStatusPruning``. Like a missing
  /// status, an old status shows only that the data is stale. After an error the statuses stay until the next deletion.
  private func pruneReads(of entity: EntityDescription, by rule: DueRule) async {
    guard pruning.noteNewStatus(of: entity.name, at: rule.now) else { return }
    let retention = max(Self.readRetention, rule.stalenessInterval, rule.longestDelay)
    let predicate = StatusName.oldReads(of: storedNames(of: entity), before: rule.now - retention / .seconds(1))
    let context = makeContext()
    let isComplete = try? await context.perform { () -> Bool in
      // A single search for all deletions, because no index finds old statuses.
      let ids = try context.fetchIDs(FetchRequest(RefreshStatusRecord.self).inWritableStores().filter(predicate))
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
  ///   - error: The error of a failed attempt; `nil` for a success.
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
        // A damaged record may have the greatest number, which has no successor.
        let count = record.failureCount == .max ? .max : record.failureCount + 1
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
      return status(name, record)
    }
  }

  /// Releases the lease of a cancelled attempt, saves no result, and returns the new status. Not to be called in a
  /// cancelled task, whose contexts perform no block.
  ///
  /// - Returns: `nil` when another attempt has taken over the lease, so that nothing was changed.
  func release(_ name: StatusName, _ lease: Lease) async throws -> RefreshStatus? {
    try await retrying { context in
      guard let record = try record(name, in: context), record.owner == lease.owner else { return nil }
      record.owner = nil
      record.leaseEnd = nil
      try context.save()
      return status(name, record)
    }
  }

  /// Deletes a status, unless an attempt has its lease: the attempt of another process, or of a later registration,
  /// saves its result in it.
  func remove(_ name: StatusName, now: Date) async throws {
    try await retrying { context in
      guard let record = try record(name, in: context) else { return }
      if record.owner != nil, let end = record.leaseEnd, end > now { return }
      context.delete(record)
      try context.save()
    }
  }

  /// Sets the cursor of a scope in a context. The caller saves the cursor together with its page.
  ///
  /// - Throws: ``ErrorCode/cancelled`` when another attempt has taken over the lease.
  func setCursor(_ cursor: String, of name: StatusName, _ owner: UUID, in context: ManagedObjectContext) throws {
    try leasedRecord(name, owner, in: context).cursor = cursor
  }

  /// Checks that an attempt has its lease, before a save of records whose cursor a later save stores.
  ///
  /// - Throws: ``ErrorCode/cancelled`` when another attempt has taken over the lease.
  func checkLease(of name: StatusName, _ owner: UUID, in context: ManagedObjectContext) throws {
    _ = try leasedRecord(name, owner, in: context)
  }

  /// Returns the record of a status whose lease an attempt has.
  private func leasedRecord(
    _ name: StatusName, _ owner: UUID, in context: ManagedObjectContext
  ) throws -> RefreshStatusRecord {
    guard let record = try record(name, in: context), record.owner == owner else { throw name.lostLeaseError }
    return record
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

  /// Returns the store for the statuses of an entity, which is also the store of its new records: the first writable
  /// store with the entity. A read-only store serves programs that only read the statuses.
  private func store(for entity: EntityDescription) throws -> any PersistentStore {
    let stores = coordinator.persistentStores.filter { store in
      store.environment.entities.contains { $0.name == entity.name }
    }
    if let store = stores.first(where: { !$0.environment.isReadOnly }) ?? stores.first { return store }
    throw CoherenceError(
      .noStore, "No attached store has the entity '\(entity.name)' of a refresh; attach such a store first.")
  }

  /// Whether a merge may change records of an entity in several stores.
  func hasSeveralStores(for entity: EntityDescription) -> Bool {
    coordinator.persistentStores.count { store in
      !store.environment.isReadOnly && store.environment.entities.contains { $0.name == entity.name }
    } > 1
  }

  /// Returns the store for the statuses of an entity; `nil` without an attached store of the entity.
  func storeIdentifier(for entity: EntityDescription) -> StoreIdentifier? { try? store(for: entity).identifier }

  /// Returns the record of a status; `nil` before the first attempt. Of the records with the present and with former
  /// names of the entity, which an earlier program may still write, returns that with the latest name.
  private func record(_ name: StatusName, in context: ManagedObjectContext) throws -> RefreshStatusRecord? {
    let store = try store(for: name.entity)
    let names = storedNames(of: name.entity)
    // A failure of another store must not fail the refresh.
    let request = FetchRequest(RefreshStatusRecord.self).inStores([store.identifier])
    let records = try context.fetch(request.filter(name.predicate(names)))
    for storedName in names {
      if let record = records.first(where: { $0.name == storedName }) { return record }
    }
    return nil
  }

  /// The names under which a store may have the statuses of an entity: its name, and its former names, as far as no
  /// other entity has them now. The latest name is the first.
  private func storedNames(of entity: EntityDescription) -> [String] {
    let present = coordinator.managedObjectModel.entitiesByName
    return [entity.name] + entity.formerNames.filter { present[$0] == nil }
  }

  /// The statuses of records, with the present names of renamed entities. Of several records of one scope, which have
  /// different names of the entity, only that with the latest name has a status here.
  ///
  /// - Parameter records: The records in the order of their recorded names, types and scopes.
  private func presentStatuses(_ records: [RefreshStatusRecord]) -> [RefreshStatus] {
    let model = coordinator.managedObjectModel
    let hasFormerNames = records.contains { model.entitiesByName[$0.name] == nil }
    guard hasFormerNames else { return records.map { RefreshStatus($0, named: $0.name) } }
    var latest: [ScopeInStore: (rank: Int, status: RefreshStatus)] = [:]
    for record in records {
      let entity = model.entitiesByName[record.name] ?? model.entities.first { $0.formerNames.contains(record.name) }
      let rank = entity?.formerNames.firstIndex(of: record.name).map { $0 + 1 } ?? 0
      let status = RefreshStatus(record, named: entity?.name ?? record.name)
      let key = ScopeInStore(
        store: record.objectID.storeIdentifier, name: status.name, type: record.type, scope: record.scope)
      if let other = latest[key], other.rank <= rank { continue }
      latest[key] = (rank, status)
    }
    return latest.sorted { $0.key.precedes($1.key) }.map { $0.value.status }
  }

  /// Inserts the record of a status, in the store of its entity's statuses.
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

/// The scope of a status in one of several stores.
private struct ScopeInStore: Hashable {
  let store: StoreIdentifier?
  let name: String
  let type: String
  let scope: String

  /// Whether the scope comes first in the order of names, types, scopes and stores, each by its UTF-8 bytes.
  func precedes(_ other: ScopeInStore) -> Bool {
    parts.lexicographicallyPrecedes(other.parts) { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  private var parts: [String] { [name, type, scope, store?.rawValue ?? ""] }
}

extension CoherenceError {
  /// Whether a save of the refresher is tried again at once after a number of saves.
  ///
  /// After a lost race to another writer, the next save usually succeeds. After a broken connection at most two more
  /// saves follow, because the next save replaces the connection. A save that may have been applied is not repeated: the
  /// repetition would take its own lease for that of another attempt. For an unavailable server, the refresher has its
  /// back-off.
  func isRetriedAtOnce(after saveCount: Int, of limit: Int) -> Bool {
    switch code {
    case .versionConflict, .recordVanished, .uniquenessViolated, .storeBusy: saveCount < limit
    default: isRetryable && outcome == .notApplied && saveCount < min(3, limit)
    }
  }
}
