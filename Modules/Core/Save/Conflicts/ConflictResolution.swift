/// The state of a save into one store over its attempts. After each refusal by the store, the merge policy resolves the
/// conflicts, and the unit of work is rebuilt for the next attempt.
struct ConflictResolution {
  let store: any PersistentStore
  /// The unit, with the changes as they are resolved so far.
  var unit: UnitOfWork
  /// The records that participants add in the present attempt.
  var added = ParticipantRecords()
  /// The rows whose derived values the last attempt changed.
  var derived: [Row] = []
  /// The identifiers that the records have after the save.
  var permanentIDs: PermanentIDs
  /// The number of attempts that a constraint refused, although a later read found no record with the values.
  var uselessAttempts = 0
  /// The inserted records that became stored records.
  var joins = JoinedRecords()
  let context: ManagedObjectContext
  /// Computes the derived values of the records that the resolution adds to the save.
  let derivedValues: DerivedValues
  /// The changes that the policy has given up.
  var discarded: [DiscardedChange] = []
  /// The given-up changes of records that the save writes nevertheless, because the records lose or get a partner in a
  /// one-to-one relationship. The changes of links stay given up.
  var revived: [DiscardedChange] = []
  /// The ordered lists that the policy has decided.
  var lists: ListMerge
  /// The relationships whose lists in the context are out of date: another writer has moved a record to another owner,
  /// the policy has discarded changes of the members, or another writer has deleted the record together with its links.
  var ownerLists: Set<RelationshipDescription> = []
  /// The partners in one-to-one relationships of records about which the policy has decided since the last read, see
  /// ``readOutdatedPartners()``.
  var decidedPartners: Set<ManagedObjectID> = []
  /// Rows of partners that unchanged objects of the context show in a former state.
  var partnerRows: [Row] = []
  /// The records in conflict whose edits a child of the context has made on the row that the store has: the context has
  /// not merged the other writer's save, but the save overtakes no edit.
  private var madeByChildren: Set<ManagedObjectID> = []

  init(
    of unit: StoreUnit, in context: ManagedObjectContext, _ permanentIDs: PermanentIDs, _ derivedValues: DerivedValues
  ) {
    store = unit.store
    self.unit = unit.unit
    self.context = context
    self.permanentIDs = permanentIDs
    self.derivedValues = derivedValues
    lists = ListMerge(context)
  }

  /// The unit as the store has committed it.
  var committed: CommittedUnit {
    CommittedUnit(
      unit: unit, permanentIDs: permanentIDs, discarded: discarded,
      outdatedLists: lists.relationships.union(joins.outdated).union(ownerLists), absorbed: joins.absorbed,
      added: added, derived: derived, partnerRows: partnerRows)
  }

  /// Resolves the conflicts that the store reported.
  ///
  /// - Throws: ``ErrorCode/versionConflict`` with the conflicts that the policy does not resolve; errors of the policy,
  ///   and of the store that reads lists and links.
  mutating func resolve(_ conflicts: [StoreConflict], by policy: MergePolicy) throws {
    let reported = Dictionary(conflicts.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    let made = unit.changes.filter { change in reported[change.id]?.storeRow.map(change.isMadeByChild) ?? false }
    madeByChildren = Set(made.map(\.id))
    let resolved =
      policy.isCustom
      ? try context.refusingChanges(of: unit.changes) { try decide(reported, by: policy) }
      : try decide(reported, by: policy)
    let changes = try restoringPartners(in: resolved, after: reported)
    try rebuild(from: changes)
  }

  /// Resolves the conflicts of records that the save restores, and that another writer has restored already. A store
  /// does not report them as conflicts, because the save inserts the records.
  ///
  /// - Returns: `false` when the store has none of the records to restore.
  /// - Throws: The errors of the resolution of other conflicts.
  mutating func resolveRestored(by policy: MergePolicy) throws -> Bool {
    let ids = unit.changes.filter { $0.kind == .inserted && $0.base != nil }.map(\.id)
    guard !ids.isEmpty else { return false }
    let rows = try context.readingLatest { try context.committedRows(ids) }
    guard !rows.isEmpty else { return false }
    try resolve(rows.map { StoreConflict(id: $0.id, storeRow: $0) }, by: policy)
    return true
  }

  /// Has the policy decide each conflict, and returns the changes to save, without the discarded changes.
  private mutating func decide(
    _ reported: [ManagedObjectID: StoreConflict], by policy: MergePolicy
  ) throws -> [RecordChange] {
    var unresolved: [Conflict] = []
    var resolved: [RecordChange] = []
    var separated: [ManagedObjectID: ManagedObjectID] = [:]
    for change in unit.changes {
      guard let storeRow = reported[change.id].map(\.storeRow) else {
        resolved.append(change)
        continue
      }
      if joins.isTarget(change.id), !isStillJoined(change.id, storeRow) {
        // Another writer deleted the stored record that an inserted record became, or changed its unique values. The
        // record is inserted after all.
        resolved += separate(change.id, &separated)
        continue
      }
      if let rebased = rebasedOntoDerived(change, storeRow) {
        resolved.append(rebased)
        continue
      }
      noteOwners(of: change, storeRow)
      // A change of members alone edits no value: the row was written for derived values only, which the next attempt
      // derives from the other writer's row.
      if change.kind == .updated, !change.isWritten, change.join == nil, storeRow != nil {
        resolved.append(change)
        continue
      }
      let conflict = Conflict(
        objectID: change.id, ancestor: change.ancestor, mine: change.kind == .deleted ? nil : change.row,
        store: storeRow, lists: storeRow == nil ? [] : try lists.lists(of: change, permanentIDs))
      switch try resolution(of: conflict, change, by: policy) {
      case .fail: unresolved.append(conflict)
      // A member deleted by another writer is not restored only to give it a position.
      case .write where storeRow == nil && change.changesPositionsOnly:
        discarded.append(DiscardedChange(record: change.record, storeRow: nil))
      case .write(let values) where change.kind == .deleted && values == storeRow?.values:
        // The policy gives the delete up, as `.discard` does, so that the links of the record stay too.
        lists.decide(conflict.lists, of: change, permanentIDs) { _ in false }
        discarded.append(DiscardedChange(record: change.record, storeRow: storeRow))
      case .write(let values):
        let changesLists = lists.decide(conflict.lists, of: change, permanentIDs, keepsOrder: policy.keepsOrder)
        resolved.append(rebased(change, onto: storeRow, values, changesLists: changesLists))
      case .delete where storeRow != nil:
        resolved.append(RecordChange(change.record, kind: .deleted, base: storeRow, row: nil, changed: change.changed))
      case .discard where change.isTakeover:
        // The inserted record remains the stored record, with the stored values.
        lists.decide(conflict.lists, of: change, permanentIDs) { _ in false }
        resolved.append(
          RecordChange(
            change.record, kind: .updated, base: storeRow, row: nil, changed: SlotSet(), join: change.join))
      case .delete, .discard:
        // Members that refer to the record stay its members, and their positions are those of the store.
        lists.decide(conflict.lists, of: change, permanentIDs) { _ in false }
        discarded.append(DiscardedChange(record: change.record, storeRow: storeRow))
      }
    }
    guard unresolved.isEmpty else { throw CoherenceError.versionConflict(unresolved) }
    return redirected(resolved, separated)
  }

  /// The changes with references to other records.
  ///
  /// - Parameter targets: The records to refer to, by the records to replace.
  func redirected(_ changes: [RecordChange], _ targets: [ManagedObjectID: ManagedObjectID]) -> [RecordChange] {
    guard !targets.isEmpty else { return changes }
    let redirection = Redirection(targets, in: store.environment.model)
    return changes.map { $0.redirected(redirection) }
  }

  /// Has the policy decide about a conflict, unless no edit is overtaken, see ``madeByChildren``.
  private func resolution(
    of conflict: Conflict, _ change: RecordChange, by policy: MergePolicy
  ) throws -> MergePolicy.Resolution {
    guard madeByChildren.contains(change.id) || movesInListsOfChildren(change) else {
      // Both writers have deleted the record. A merge before the save would have removed the object.
      if case .error = policy.kind.fallback, change.kind == .deleted, conflict.store == nil, context.showsSavesOfOthers
      {
        return .discard
      }
      return try policy.resolve(conflict, changed: change.changed, mergesProperties: context.showsSavesOfOthers)
    }
    return try MergePolicy.objectTrumps.resolve(conflict, changed: change.changed, mergesProperties: false)
  }

  /// Whether a change only moves a record in lists, each of which a child has changed as the store has it.
  private func movesInListsOfChildren(_ change: RecordChange) -> Bool {
    guard !madeByChildren.isEmpty, change.changesPositionsOnly, let row = change.row else { return false }
    return change.changed.allSatisfy { slot in
      if case .reference(let owner) = row[slot - 1] { madeByChildren.contains(owner) } else { false }
    }
  }

  /// Records the relationships whose lists name the owners of a record, if this save or another writer has moved the
  /// record: the context has changed its lists for its own edit, and the policy may decide for another owner. Records the
  /// relationships with links of a deleted record.
  private mutating func noteOwners(of change: RecordChange, _ storeRow: Row?) {
    // A restored record has none of the links that the context has read.
    if storeRow == nil { ownerLists.formUnion(change.entity.relationships.filter(\.isLinked)) }
    for list in change.entity.listsDerivedFromRows {
      guard let slot = list.inverse?.slot else { continue }
      if change.changed.contains(slot) || storeRow?[slot] != change.base?[slot] { ownerLists.insert(list) }
    }
  }

  /// Rebases a change onto a row that differs from the change's base in derived values alone, or not at all: another
  /// writer has then linked a record that the save deletes. No writer edited the record, so that the policy is not
  /// asked. Returns `nil` for any other row.
  ///
  /// A change of the record's ordered lists is left to the policy, because another version may be another order of a
  /// list.
  private func rebasedOntoDerived(_ change: RecordChange, _ storeRow: Row?) -> RecordChange? {
    guard let storeRow, let base = change.ancestor, !change.changesLists, change.kind != .inserted,
      storeRow.entity === change.entity,
      !store.environment.model.derivations.isEmpty
        || change.kind == .deleted && storeRow.version == base.version
          && change.entity.relationships.contains(where: \.isLinked)
    else { return nil }
    let related = SlotSet(change.entity.checked.related.lazy.map(\.slot))
    guard (0..<base.count).allSatisfy({ related.contains($0) || base[$0] == storeRow[$0] }) else { return nil }
    if change.kind == .deleted {
      return RecordChange(change.record, kind: .deleted, base: storeRow, row: nil, changed: change.changed)
    }
    guard let mine = change.row else { return nil }
    var values = storeRow.values
    for slot in change.changed where !related.contains(slot) { values[slot] = mine[slot] }
    return rebased(change, onto: storeRow, values, changesLists: false)
  }

  /// Rebuilds the unit from resolved changes, with the positions in lists and the links that the changes add and
  /// remove. References to records that the changes delete are cleared.
  mutating func rebuild(from resolved: [RecordChange]) throws {
    let positioned = lists.positioned(resolved) { positionChange($0, $1, $2) }
    let changes = try RecordChange.clearingReferencesToDeleted(in: positioned)
    var unit = UnitOfWork(of: unit.keeper)
    for change in changes { unit.append(change) }
    let gatherer = LinkGatherer(
      store: store, context: context, members: lists.members, permanentIDs: permanentIDs)
    unit.links = try context.readingLatest { try gatherer.links(of: unit, without: revived + discarded) }
    for change in changes where change.isWritten { try RecordChange.checkVersion(of: change.base) }
    self.unit = unit
    try readOutdatedPartners()
  }

  /// The change of a member whose position changes because a list was merged.
  func positionChange(_ row: Row, _ position: Int64, _ slot: Int) -> RecordChange {
    let record = PendingRecord(changing: row)
    record.set(.int(position), at: slot)
    if let object = context.storage.registry.object(for: row.id), object.pending == nil { record.object = object }
    record.seal(as: row.id, version: RecordChange.version(after: row))
    unit.keeper.retain(record)
    return RecordChange(record)
  }

  /// Rebases a change onto the row in the store. Without a row in the store, the change becomes an insert, which
  /// restores the record.
  ///
  /// - Parameter changesLists: Whether ordered lists of the record change. The row is then written even if no slot
  ///   differs.
  private func rebased(
    _ change: RecordChange, onto row: Row?, _ values: [AttributeValue], changesLists: Bool
  ) -> RecordChange {
    let base = row ?? change.base
    var values = values
    change.entity.derive(&values, mine: change.row, over: row, changesLists: changesLists)
    let version = row == nil ? base.map(RecordChange.version(restoring:)) : nil
    let written = Row.make(
      id: change.id, entity: change.entity, version: version ?? RecordChange.version(after: base), values: values)
    guard let row else {
      return RecordChange(
        change.record, kind: .inserted, base: base, row: written, changed: change.changed, join: change.join)
    }
    let changed = SlotSet(values.indices.filter { values[$0] != row[$0] })
    return RecordChange(
      change.record, kind: .updated, base: row, row: changed.isEmpty && !changesLists ? nil : written,
      changed: changed, join: change.join)
  }
}

extension RecordChange {
  /// Whether a child of the saving context has read a row of the store before its edits, and the row has the values on
  /// which all edits are based.
  fileprivate func isMadeByChild(on stored: Row) -> Bool {
    guard join == nil, record.versionReadByChild == stored.version else { return false }
    guard kind != .deleted else { return true }
    let hasReadLists = members.allSatisfy { relationship, changes in
      !relationship.isOrdered || changes.isEmpty || changes.origin?.version == stored.version
    }
    guard kind == .updated, hasReadLists, let ancestor else { return false }
    return changed.allSatisfy { slot in
      switch entity.slots[slot] {
      // A change of a position shows in the version of the owner.
      case .position: true
      // A derived value, which each save computes, is no edit.
      case .attribute(let attribute) where attribute.derivation != nil: true
      case .attribute, .reference: ancestor[slot] == stored[slot]
      }
    }
  }
}

extension CoherenceError {
  /// The error of a save with conflicts that its merge policy does not resolve.
  static func versionConflict(_ conflicts: [Conflict]) -> CoherenceError {
    var error = CoherenceError(
      .versionConflict,
      "Other writers changed or deleted \(conflicts.count) record(s) since this context read them. "
        + "Refresh the objects and save again, or choose a merge policy."
        + listNames(conflicts))
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
