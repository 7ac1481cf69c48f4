/// Takes what a context wants to save into its stores: one transaction for each store, conflicts resolved by the
/// context's merge policy.
final class StoreSaver {
  private let policy: MergePolicy
  private let coordinator: PersistentStoreCoordinator
  private let context: ManagedObjectContext
  private let storage: ContextStorage
  /// The records of members that get other places because a list was merged, kept as long as the changes.
  private var additions: [PendingRecord] = []
  /// What the changes are of, kept as long as they are.
  private let records: [PendingRecord]
  private var units: [(store: any PersistentStore, unit: UnitOfWork)] = []
  private let permanentIDs: PermanentIDs

  /// Reserves identifiers and gathers the changes. Reads what it needs; writes nothing.
  init(context: ManagedObjectContext, coordinator: PersistentStoreCoordinator) throws {
    policy = context.mergePolicy
    self.coordinator = coordinator
    self.context = context
    storage = context.storage
    let isNested = context.parent != nil
    records =
      isNested
      ? storage.records.filter { !$0.isVoid && !context.isParentsInsert($0) } : storage.records
    // Bases are of the state that the records were read in.
    let bases = isNested ? try records.map { $0.isVoid ? nil : try context.storedBase(of: $0) } : []
    // Keys and links come over other connections. A unit of work never waits for one while it holds another: a store
    // takes back the offered reader's connection.
    context.lease.offerForSave()
    try KeyReservation(in: coordinator).reserveKeys(for: records)
    permanentIDs = PermanentIDs(reservedFor: records)
    try gather(bases: bases)
  }

  // MARK: Gathering

  /// - Parameter bases: What the store has below each record, for a context with parents; empty for others.
  private func gather(bases: [StoredBase?]) throws {
    var gathered: [(home: StoreIdentifier, unit: UnitOfWork)] = []
    // Most saves change records of one space in a row.
    var last: (id: ManagedObjectID, place: Int)?
    for (index, record) in records.enumerated() where !record.isVoid {
      let id = record.permanentID
      if last?.id.isNeighbour(of: id) != true {
        guard let home = id.storeIdentifier else { throw unsaved(record) }
        let place = gathered.firstIndex { $0.home == home } ?? gathered.count
        if place == gathered.count { gathered.append((home, UnitOfWork())) }
        last = (id, place)
      }
      let stored = bases.isEmpty ? nil : bases[index]
      gathered[last!.place].unit.append(try change(record, id: id, stored: stored))
    }
    for store in try coordinator.openStores() {
      guard let place = gathered.firstIndex(where: { $0.home == store.identifier }) else { continue }
      var unit = gathered.remove(at: place).unit
      var gatherer = LinkGatherer(store: store, context: context, permanentIDs: permanentIDs)
      try gatherer.gather(unit)
      unit.links = gatherer.links
      units.append((store, unit))
    }
    guard gathered.isEmpty else {
      throw CoherenceError(
        .storeDetached, "The store of a changed object is not attached any more; attach it and save again.")
    }
  }

  /// - Parameter stored: What the store has below a parent's unsaved state; the parent's edits stay out of the save.
  private func change(_ record: PendingRecord, id: ManagedObjectID, stored: StoredBase?) throws -> RecordChange {
    guard record.isWritten else {
      guard let stored else { return RecordChange(record) }
      return RecordChange(
        record, kind: record.kind, base: stored.row, row: nil, changed: record.changed,
        baseVersion: stored.version(for: record), overtaken: stored.overtaken)
    }
    guard let stored else {
      storage.withPending { record.seal(as: id, version: RecordChange.version(after: record.base)) }
      guard record.entity.hasReferences else { return RecordChange(record) }
      var row = record.draft
      try makePermanent(&row, record, store: id.storeIdentifier)
      if row.isIdentical(to: record.draft) { return RecordChange(record) }
      return RecordChange(
        record, kind: record.kind, base: record.base, row: row, changed: record.changed,
        baseVersion: record.baseVersion, overtaken: record.overtaken)
    }
    var row = stored.row
    for slot in record.changed { row.set(record[slot], at: slot) }
    row.seal(id: id, version: RecordChange.version(after: stored.row))
    if record.entity.hasReferences { try makePermanent(&row, record, store: id.storeIdentifier) }
    return RecordChange(
      record, kind: record.kind, base: stored.row, row: row, changed: record.changed,
      baseVersion: stored.version(for: record), overtaken: stored.overtaken)
  }

  private func makePermanent(_ row: inout Row, _ record: PendingRecord, store: StoreIdentifier?) throws {
    let slots = record.entity.referenceSlots
    for slot in slots {
      guard case .reference(let target) = row[slot] else { continue }
      let permanent = permanentIDs[target]
      if permanent != target { row.set(.reference(permanent), at: slot) }
      guard let home = permanent.storeIdentifier else { throw unsaved(record) }
      guard home == store else {
        throw CoherenceError(
          .relationshipCrossesStores,
          "'\(record.entity.name).\(record.entity.slots[slot].name)' leads from one store into another; "
            + "keep both objects in one store, or leave the relationship empty.")
      }
    }
  }

  private func unsaved(_ record: PendingRecord) -> CoherenceError {
    var error = CoherenceError(
      .danglingReference,
      "An object of '\(record.entity.name)' refers to one that a parent context has not saved; save the parent first.")
    error.objectIDs = [record.id]
    return error
  }

  // MARK: Writing

  /// Saves into each store.
  ///
  /// - Parameter publish: Called for each committed unit.
  /// - Returns: What the save as a whole came to.
  func run(publish: (UnitOfWork, CommittedRows) -> Void) -> Result<Void, any Error> {
    var outcomes: [StoreIdentifier: SaveOutcome] = [:]
    for (store, unit) in units {
      do {
        let (final, committed) = try commit(unit, to: store)
        outcomes[store.identifier] = .applied
        publish(final, committed)
      } catch {
        return .failure(failure(error, of: store, outcomes))
      }
    }
    return .success(())
  }

  private func failure(
    _ error: any Error, of store: any PersistentStore, _ outcomes: [StoreIdentifier: SaveOutcome]
  ) -> any Error {
    guard var result = error as? CoherenceError else {
      return CoherenceError(.inputOutput, "The store failed to save.", underlying: error)
    }
    result.objectIDs = presentIDs(result.objectIDs)
    guard outcomes.values.contains(.applied) else {
      result.outcomes = Dictionary(uniqueKeysWithValues: units.map { ($0.store.identifier, SaveOutcome.notApplied) })
      result.outcomes[store.identifier] = result.outcome
      return result
    }
    var partial = CoherenceError(
      .partialSave,
      "Some stores were saved and one failed: \(result.message) Objects of the saved stores are clean; "
        + "mend the cause and save again.", underlying: result, isRetryable: result.isRetryable)
    partial.outcome = result.outcome
    partial.outcomes = Dictionary(
      uniqueKeysWithValues: units.map { ($0.store.identifier, outcomes[$0.store.identifier] ?? .notApplied) })
    partial.outcomes[store.identifier] = result.outcome
    partial.objectIDs = result.objectIDs
    return partial
  }

  /// The identifiers that records have now, for those that they would have had after the save.
  private func presentIDs(_ ids: [ManagedObjectID]) -> [ManagedObjectID] {
    let wanted = Set(ids)
    var present: [ManagedObjectID: ManagedObjectID] = [:]
    for change in units.flatMap(\.unit.changes) where wanted.contains(change.id) {
      present[change.id] = change.record.id
    }
    return ids.map { present[$0] ?? $0 }
  }

  /// How often a save that meets conflicts is tried.
  private static let attempts = 64
  /// After how many of them the store keeps other writers out, if it is able to.
  private static let sharedAttempts = 4

  /// Saves one unit, resolving conflicts until the store takes it. Saves that conflict over the same records take turns.
  private func commit(_ unit: UnitOfWork, to store: any PersistentStore) throws -> (UnitOfWork, CommittedRows) {
    var work = Work(unit: unit, lists: ListMerge(context, permanentIDs: permanentIDs))
    if SaveTurns.all.isAnyTaken, !context.lease.excludesWriters {
      // No connection is held over the wait.
      context.lease.endOffers()
      SaveTurns.all.waitForOthers(unit.changes.lazy.map(\.id))
    }
    defer { SaveTurns.all.end(&work.turn) }
    for attempt in 1...Self.attempts {
      if let committed = try save(&work, to: store) { return (work.unit, committed) }
      if attempt == Self.sharedAttempts, policy.canExcludeWriters, !context.lease.excludesWriters {
        if let committed = try saveExcludingWriters(&work, to: store) { return (work.unit, committed) }
      }
      if attempt > 2, !context.lease.excludesWriters { SaveTurns.pause(after: attempt - 2) }
    }
    throw CoherenceError(
      .versionConflict, "The records are changed by others faster than conflicts can be resolved; save again.",
      isRetryable: true)
  }

  /// A unit on its way into a store.
  private struct Work {
    var unit: UnitOfWork
    var surrendered: [CommittedRows.Surrender] = []
    var lists: ListMerge
    var turn = SaveTurns.Turn()

    init(unit: UnitOfWork, lists: ListMerge) {
      self.unit = unit
      self.lists = lists
    }
  }

  /// Tries to save a unit once.
  ///
  /// - Returns: `nil` when the save met conflicts, which are resolved in the unit now.
  private func save(_ work: inout Work, to store: any PersistentStore) throws -> CommittedRows? {
    do {
      let request = SavePlan(work.unit).request
      if !request.steps.isEmpty { try coordinator.save(request, in: store) }
      return CommittedRows(
        permanentIDs: permanentIDs, surrendered: work.surrendered, mergedLists: work.lists.relationships)
    } catch let failure as StoreConflict.Failure {
      // The policy may wait for others, and so may the turn.
      context.lease.endOffers()
      work.unit = try resolve(failure.conflicts, of: work.unit, in: store, &work.surrendered, &work.lists)
      // Other writers that have their turns wait for the store that keeps them out.
      if !context.lease.excludesWriters { SaveTurns.all.begin(&work.turn, with: failure.conflicts.map(\.id)) }
      if Task.isCancelled {
        throw CoherenceError(.cancelled, "The task was cancelled while conflicts were resolved.")
      }
      return nil
    }
  }

  /// Saves a unit that lost to other writers again and again, while the store keeps them out: one try meets the latest
  /// conflicts, and the next one comes through.
  ///
  /// - Returns: `nil` when the store is not able to keep writers out.
  private func saveExcludingWriters(_ work: inout Work, to store: any PersistentStore) throws -> CommittedRows? {
    guard store is any WriterExcluding else { return nil }
    return try context.excludingWriters(of: [store]) {
      if let committed = try save(&work, to: store) { return committed }
      return try save(&work, to: store)
    }
  }

  // MARK: Conflicts

  /// The unit with every conflict resolved by the policy.
  ///
  /// - Throws: ``ErrorCode/versionConflict`` with the conflicts that the policy does not resolve.
  private func resolve(
    _ conflicts: [StoreConflict], of unit: UnitOfWork, in store: any PersistentStore,
    _ surrendered: inout [CommittedRows.Surrender], _ lists: inout ListMerge
  ) throws -> UnitOfWork {
    let met = Dictionary(conflicts.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    var failed: [Conflict] = []
    var kept: [RecordChange] = []
    for change in unit.changes {
      guard let storeRow = met[change.id].map(\.storeRow) else {
        kept.append(change)
        continue
      }
      let conflict = Conflict(
        objectID: change.id, ancestor: change.ancestor, mine: change.kind == .deleted ? nil : change.row,
        store: storeRow, lists: storeRow == nil ? [] : try lists.lists(of: change))
      switch try policy.resolve(conflict, changed: change.changed, mergesProperties: context.showsSavesOfOthers) {
      case .fail: failed.append(conflict)
      // A member that another writer deleted is not put back for the sake of its place.
      case .write where storeRow == nil && change.changesPlacesOnly:
        surrendered.append(CommittedRows.Surrender(record: change.record, storeRow: nil))
      case .write(let values):
        let changesLists = lists.decide(conflict.lists, of: change, keepsOrder: policy.keepsOrder)
        kept.append(rebased(change, onto: storeRow, values, changesLists: changesLists))
      case .delete where storeRow != nil:
        kept.append(RecordChange(change.record, kind: .deleted, base: storeRow, row: nil, changed: change.changed))
      case .delete, .giveUp:
        // Members that refer to the record stay its members, and their places are those of the store.
        lists.decide(conflict.lists, of: change) { _ in false }
        surrendered.append(CommittedRows.Surrender(record: change.record, storeRow: storeRow))
      }
    }
    guard failed.isEmpty else { throw conflictError(failed) }
    return try unitOfWork(lists.placed(kept, add: addition), in: store, without: surrendered, lists)
  }

  /// A unit of resolved changes, with the links that they mean.
  private func unitOfWork(
    _ changes: [RecordChange], in store: any PersistentStore, without surrendered: [CommittedRows.Surrender],
    _ lists: ListMerge
  ) throws -> UnitOfWork {
    var unit = UnitOfWork()
    for change in changes { unit.append(change) }
    var gatherer = LinkGatherer(
      store: store, context: context, members: lists.members, permanentIDs: permanentIDs)
    defer { context.lease.endForSave() }
    try gatherer.gather(unit, without: surrendered)
    unit.links = gatherer.links
    return unit
  }

  /// The change of a member that gets another place because a list was merged.
  private func addition(_ row: Row, _ place: Int64, _ slot: Int) -> RecordChange {
    let record = PendingRecord(changing: row)
    record.set(.int(place), at: slot)
    if let object = storage.registry.object(for: row.id), object.pending == nil { record.object = object }
    record.seal(as: row.id, version: RecordChange.version(after: row))
    additions.append(record)
    return RecordChange(record)
  }

  /// A change on top of what the store has; an insert when the store has nothing any more.
  ///
  /// - Parameter changesLists: Whether ordered lists of the record change, which writes the row though no slot differs.
  private func rebased(
    _ change: RecordChange, onto row: Row?, _ values: [AttributeValue], changesLists: Bool
  ) -> RecordChange {
    let base = row ?? change.base
    let written = Row.make(
      id: change.id, entity: change.entity, version: RecordChange.version(after: base), values: values)
    guard let row else {
      return RecordChange(change.record, kind: .inserted, base: base, row: written, changed: change.changed)
    }
    let changed = SlotSet(values.indices.filter { values[$0] != row[$0] })
    return RecordChange(
      change.record, kind: .updated, base: row, row: changed.isEmpty && !changesLists ? nil : written,
      changed: changed)
  }

  private func conflictError(_ conflicts: [Conflict]) -> CoherenceError {
    var error = CoherenceError(
      .versionConflict,
      "\(conflicts.count) record(s) were changed or deleted by others since they were read. "
        + "Refresh them, or choose a merge policy."
        + Self.listNames(conflicts))
    error.conflicts = conflicts
    error.objectIDs = conflicts.map(\.objectID)
    return error
  }

  /// Names the ordered relationships of conflicts, for the message.
  private static func listNames(_ conflicts: [Conflict]) -> String {
    let names = Set(conflicts.flatMap(\.lists).map { "'\($0.relationship.entity.name).\($0.relationship.name)'" })
    return names.isEmpty ? "" : " Ordered relationships concerned: \(names.sorted().joined(separator: ", "))."
  }
}

/// What a committed unit left behind.
struct CommittedRows {
  struct Surrender {
    let record: PendingRecord
    let storeRow: Row?
  }
  let permanentIDs: PermanentIDs
  /// Records whose changes were given up.
  let surrendered: [Surrender]
  /// Relationships whose ordered lists were merged with the store's.
  let mergedLists: Set<RelationshipDescription>
}
