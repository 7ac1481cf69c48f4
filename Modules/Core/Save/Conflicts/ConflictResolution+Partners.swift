// Both sides of one-to-one relationships after the resolution of conflicts. Each side is a value of its own record, and
// a policy decides about one record at a time: without the functions below, a partner could lead to a record that leads
// to another partner. The decision about a record is its change among the resolved ones, or the stored row if the
// policy has discarded its change.

extension ConflictResolution {
  /// Makes both sides of one-to-one relationships agree with the decided values of the records in conflict. A partner
  /// that a record does not have any more loses its reference to the record. A partner that a record keeps leads to the
  /// record again, and so does the partner of a record that the save restores, unless it has another partner since.
  ///
  /// Called once for each refusal by the store, after the policy has decided about all conflicts. Reads the rows of
  /// partners that the save does not change.
  ///
  /// - Parameters:
  ///   - resolved: The changes to save, as the policy has decided.
  ///   - reported: The conflicts about which the policy has decided.
  /// - Throws: ``ErrorCode/versionConflict`` when a partner needs the reference that it loses; errors of the store.
  mutating func restoringPartners(
    in resolved: [RecordChange], after reported: [ManagedObjectID: StoreConflict]
  ) throws -> [RecordChange] {
    let decided = unit.changes.filter { reported[$0.id] != nil && $0.entity.hasPartners }
    guard !decided.isEmpty else { return resolved }
    var changes = PartnerChanges(resolved, reported, discarded, derivedValues)
    for change in decided {
      guard let conflict = reported[change.id] else { continue }
      for relationship in change.entity.relationships {
        guard let slot = relationship.slot, let inverseSlot = relationship.inverse?.slot else { continue }
        notePartners(in: [change.ancestor, change.row, conflict.storeRow, changes[change.id]?.row], at: slot)
        if let stored = conflict.storeRow {
          try clearFormerPartners(of: change, stored, slot: slot, inverseSlot: inverseSlot, in: &changes)
          try reconnectPartner(of: change, stored, slot: slot, inverseSlot: inverseSlot, in: &changes)
        } else {
          try reconnectRestoredPartner(of: change, slot: slot, inverseSlot: inverseSlot, in: &changes)
        }
      }
    }
    revive(changes.added)
    return changes.all
  }

  /// Removes the changes of records that the save writes after all from the discarded changes: the save publishes their
  /// rows. The lists that the discarded changes have changed in the context are out of date.
  mutating func revive(_ ids: Set<ManagedObjectID>) {
    guard !discarded.isEmpty, !ids.isEmpty else { return }
    for change in discarded where ids.contains(change.record.permanentID) {
      let record = change.record
      revived.append(change)
      ownerLists.formUnion(record.members.keys)
      for slot in record.changed {
        if case .position(let owner) = record.entity.slots[slot], let list = owner.inverse { ownerLists.insert(list) }
      }
    }
    discarded.removeAll { ids.contains($0.record.permanentID) }
  }

  /// Clears the references to a record of its partners in the save and in the store that the record does not have by
  /// the decision.
  ///
  /// - Parameters:
  ///   - change: The change of the record before the decision.
  ///   - stored: The row of the record in the store.
  ///   - slot: The slot of the record's reference.
  ///   - inverseSlot: The slot of the partner's reference.
  private func clearFormerPartners(
    of change: RecordChange, _ stored: Row, slot: Int, inverseSlot: Int, in changes: inout PartnerChanges
  ) throws {
    let id = change.id
    let decision = changes[id]
    if decision?.kind == .deleted { return }
    let decided = (decision?.row ?? stored)[slot]
    let mine: AttributeValue = change.kind == .deleted ? .null : change.row?[slot] ?? .null
    for case .reference(let partner) in [mine, stored[slot]] where decided != .reference(partner) && partner != id {
      try clear(inverseSlot, of: partner, leadingTo: id, in: &changes, resolving: change, stored)
    }
  }

  /// Makes the partner that a record has by the decision lead to the record again. The save has changed the partner's
  /// reference together with a change of the record that the policy has discarded, or another writer has changed it
  /// together with a change of the record that the policy overwrites.
  ///
  /// A partner with a decision of its own keeps its reference, unless the save changes the record's reference too.
  ///
  /// - Parameters: As for ``clearFormerPartners(of:_:slot:inverseSlot:in:)``.
  private func reconnectPartner(
    of change: RecordChange, _ stored: Row, slot: Int, inverseSlot: Int, in changes: inout PartnerChanges
  ) throws {
    let decision = changes[change.id]
    guard decision?.kind != .deleted, case .reference(let partner) = (decision?.row ?? stored)[slot],
      partner != change.id
    else { return }
    let differsFromStore = stored[slot] != .reference(partner)
    let own: RecordChange
    if let present = changes[partner] {
      let changesReference = change.kind == .deleted || change.changed.contains(slot)
      guard present.kind != .deleted, changesReference || !changes.hasDecision(about: partner),
        differsFromStore || present.changed.contains(inverseSlot)
      else { return }
      own = present
    } else {
      // A partner that the record has in the store too leads to the record there.
      guard differsFromStore, !changes.hasDecision(about: partner), let added = try addedChange(of: partner) else {
        return
      }
      own = added
    }
    guard let row = own.row, row[inverseSlot] != .reference(change.id) else { return }
    changes.set(.reference(change.id), at: inverseSlot, of: own)
    if case .reference(let loser) = row[inverseSlot], loser != partner {
      try clear(slot, of: loser, leadingTo: partner, in: &changes, resolving: change, stored)
    }
  }

  /// Clears a reference of a record if the reference leads to a target.
  ///
  /// - Parameters:
  ///   - change: The change in conflict, for the error.
  ///   - stored: The row that the store has of the record in conflict.
  private func clear(
    _ slot: Int, of id: ManagedObjectID, leadingTo target: ManagedObjectID, in changes: inout PartnerChanges,
    resolving change: RecordChange, _ stored: Row
  ) throws {
    let present = try changes[id] ?? partnerChange(of: id, in: changes) { $0[slot] == .reference(target) }
    guard let partner = present, partner.kind != .deleted, partner.row?[slot] == .reference(target) else { return }
    guard !partner.entity.checked.required.contains(slot) else { throw unresolved(change, stored) }
    changes.set(.null, at: slot, of: partner)
  }

  /// Makes the partner of a record that the save restores lead to the record again: the delete of the record has
  /// cleared the reference. A partner that leads to another record since keeps its reference, and the restored record
  /// loses its own.
  private func reconnectRestoredPartner(
    of change: RecordChange, slot: Int, inverseSlot: Int, in changes: inout PartnerChanges
  ) throws {
    guard let restored = changes[change.id], restored.kind == .inserted,
      case .reference(let partner)? = restored.row?[slot], partner != restored.id
    else { return }
    let own = try changes[partner] ?? partnerChange(of: partner, in: changes) { $0[inverseSlot].isNull }
    if own?.kind == .deleted { return }
    if let own, own.row?[inverseSlot].isNull == true {
      return changes.set(.reference(restored.id), at: inverseSlot, of: own)
    }
    let present = try own?.row ?? latestRow(of: partner)
    // A partner that the store does not have any more is a dangling reference, which the store reports.
    guard let row = present, row[inverseSlot] != .reference(restored.id) else { return }
    guard !restored.entity.checked.required.contains(slot) else { throw unresolved(change, nil) }
    changes.set(.null, at: slot, of: restored)
  }

  /// The error of a conflict whose resolution would clear a required reference.
  private func unresolved(_ change: RecordChange, _ stored: Row?) -> CoherenceError {
    let mine = change.kind == .deleted ? nil : change.row
    return .versionConflict([Conflict(objectID: change.id, ancestor: change.ancestor, mine: mine, store: stored)])
  }

  /// A change that writes nothing yet, of a record that the save does not change; `nil` if the record's row in the
  /// store does not satisfy a condition.
  private func partnerChange(
    of id: ManagedObjectID, in changes: PartnerChanges, where isWanted: (Row) -> Bool
  ) throws -> RecordChange? {
    guard let former = changes.discarded[id] else {
      guard let added = try addedChange(of: id), added.base.map(isWanted) == true else { return nil }
      return added
    }
    // The row of a change that an earlier attempt has discarded may be older than the store's.
    let row = changes.isReported(id) ? former.storeRow : try latestRow(of: id)
    return row.flatMap { isWanted($0) ? revivedChange(of: former, over: $0) : nil }
  }

  /// A change that writes nothing yet, of a record that the unit does not have; `nil` for a record that the store does
  /// not have. A discarded change of the record stays discarded until ``revive(_:)``.
  func outsideChange(of id: ManagedObjectID) throws -> RecordChange? {
    guard let former = discarded.first(where: { $0.record.permanentID == id }) else { return try addedChange(of: id) }
    return try latestRow(of: id).map { revivedChange(of: former, over: $0) }
  }

  /// A change that writes nothing yet, of a record that neither the unit nor the discarded changes have; `nil` for a
  /// record that the store does not have. The commit gives the row to the record's unchanged object, if the context has
  /// one.
  private func addedChange(of id: ManagedObjectID) throws -> RecordChange? {
    guard let row = try latestRow(of: id) else { return nil }
    let record = PendingRecord(changing: row)
    if let object = context.storage.registry.object(for: id), object.pending == nil { record.object = object }
    unit.keeper.retain(record)
    return RecordChange(record, kind: .updated, base: row, row: nil, changed: SlotSet())
  }

  /// A change that writes nothing yet, of a record with discarded changes. Uses the discarded change's record, because
  /// a second record would not have the object. The join leaves out the discarded changes of members.
  private func revivedChange(of former: DiscardedChange, over row: Row) -> RecordChange {
    RecordChange(
      former.record, kind: .updated, base: row, row: nil, changed: SlotSet(),
      join: RecordJoin(id: row.id, entity: row.entity, members: [:]))
  }

  /// The row of a record in the latest state of its store, which may be newer than the state that the save has read.
  private func latestRow(of id: ManagedObjectID) throws -> Row? {
    try context.readingLatest { try context.committedRow(id) }
  }
}

/// The changes of a save, by record and in their order, with the decisions of the policy.
private struct PartnerChanges {
  private(set) var all: [RecordChange]
  /// The records whose changes are added to the resolved ones.
  private(set) var added: Set<ManagedObjectID> = []
  /// The changes that the policy has discarded, in this attempt or in an earlier one, by record.
  let discarded: [ManagedObjectID: DiscardedChange]
  /// The conflicts of this attempt, by record.
  private let reported: [ManagedObjectID: StoreConflict]
  private let derivedValues: DerivedValues
  /// The index in ``all`` of each record's change.
  private var indices: [ManagedObjectID: Int]

  init(
    _ changes: [RecordChange], _ reported: [ManagedObjectID: StoreConflict], _ discarded: [DiscardedChange],
    _ derivedValues: DerivedValues
  ) {
    all = changes
    self.reported = reported
    self.derivedValues = derivedValues
    self.discarded = Dictionary(
      discarded.map { ($0.record.permanentID, $0) }, uniquingKeysWith: { _, last in last })
    indices = Dictionary(changes.indices.map { (changes[$0].id, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// Whether the policy has decided about a record itself, in this attempt or with an earlier discarded change.
  func hasDecision(about id: ManagedObjectID) -> Bool { isReported(id) || discarded[id] != nil }

  /// Whether the record is in conflict in this attempt.
  func isReported(_ id: ManagedObjectID) -> Bool { reported[id] != nil }

  subscript(id: ManagedObjectID) -> RecordChange? { indices[id].map { all[$0] } }

  /// Replaces or adds a change, with another value in a slot.
  mutating func set(_ value: AttributeValue, at slot: Int, of change: RecordChange) {
    guard let row = change.row else { return }
    let written = change.writing(value, at: slot, over: row, derivedValues)
    if let index = indices[change.id] {
      all[index] = written
    } else {
      indices[change.id] = all.count
      all.append(written)
      added.insert(change.id)
    }
  }
}

extension RecordChange {
  /// The change with another value in a slot of its row. A record that the save has not written so far gets the time and
  /// the author of the save.
  func writing(_ value: AttributeValue, at slot: Int, over row: Row, _ derivedValues: DerivedValues) -> RecordChange {
    var values = row.values
    var changed = changed
    values[slot] = value
    if base?[slot] == value { changed.remove(slot) } else { changed.insert(slot) }
    if !isWritten, !changed.isEmpty, let base {
      var derived = Row.make(id: id, entity: entity, version: row.version, values: values)
      derivedValues.derive(&derived, changing: &changed, over: base, movesOnly: false)
      values = derived.values
    }
    return writing(values, changed: changed)
  }
}

extension EntityDescription {
  /// Whether the entity has a one-to-one relationship.
  fileprivate var hasPartners: Bool { relationships.contains { $0.slot != nil && $0.inverse?.slot != nil } }
}
