// Both sides of one-to-one relationships after the resolution of conflicts. Each side is a value of its own record, and
// a policy decides about one record at a time: without the functions below, a partner could lead to a record that leads
// to another partner.

extension ConflictResolution {
  /// Makes both sides of one-to-one relationships agree with the decided values of the records in conflict. A partner
  /// that a record does not have any more loses its reference to the record. A partner that a record keeps leads to the
  /// record again, and so does the partner of a record that the save restores, unless it has another partner since.
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
        guard let slot = relationship.slot, let side = relationship.inverse?.slot else { continue }
        notePartners(in: [change.ancestor, change.row, conflict.storeRow, changes[change.id]?.row], at: slot)
        if let stored = conflict.storeRow {
          try releasePartners(of: change, stored, slot: slot, side: side, in: &changes)
          try regainPartner(of: change, stored, slot: slot, side: side, in: &changes)
        } else {
          try rejoinPartner(of: change, slot: slot, side: side, in: &changes)
        }
      }
    }
    revive(changes.added)
    return changes.all
  }

  /// Removes records that the save writes after all from the discarded changes: the save publishes their rows. The
  /// lists that the discarded changes have changed in the context are out of date.
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

  /// Clears the references to a record of the partners that the record does not have by the decision.
  ///
  /// - Parameters:
  ///   - change: The change of the record, as the save would have made it.
  ///   - stored: The row that the store has.
  ///   - slot: The slot of the record's reference.
  ///   - side: The slot of the partner's reference.
  private func releasePartners(
    of change: RecordChange, _ stored: Row, slot: Int, side: Int, in changes: inout PartnerChanges
  ) throws {
    let id = change.id
    let decision = changes[id]
    if decision?.kind == .deleted { return }
    let decided = (decision?.row ?? stored)[slot]
    let mine: AttributeValue = change.kind == .deleted ? .null : change.row?[slot] ?? .null
    for case .reference(let partner) in [mine, stored[slot]] where decided != .reference(partner) && partner != id {
      try clear(side, of: partner, leadingTo: id, in: &changes, resolving: change, stored)
    }
  }

  /// Leads the partner that a record has by the decision to the record again: the save has led the partner to another
  /// record, or to none, because of a change that the policy has given up, or another writer has, whose change the
  /// policy overwrites.
  ///
  /// The policy has decided about a partner in conflict itself. So such a partner keeps its reference, unless the
  /// policy has given up the saver's own change of the record's reference.
  private func regainPartner(
    of change: RecordChange, _ stored: Row, slot: Int, side: Int, in changes: inout PartnerChanges
  ) throws {
    let decision = changes[change.id]
    guard decision?.kind != .deleted, case .reference(let partner) = (decision?.row ?? stored)[slot],
      partner != change.id
    else { return }
    let differsFromStore = stored[slot] != .reference(partner)
    let own: RecordChange
    if let present = changes[partner] {
      let isGivenUp = change.kind == .deleted || change.changed.contains(slot)
      guard present.kind != .deleted, isGivenUp || !changes.hasDecision(about: partner),
        differsFromStore || present.changed.contains(side)
      else { return }
      own = present
    } else {
      // A partner that the record has in the store too leads to the record there.
      guard differsFromStore, !changes.hasDecision(about: partner), let added = try addedChange(of: partner) else {
        return
      }
      own = added
    }
    guard let row = own.row, row[side] != .reference(change.id) else { return }
    changes.set(.reference(change.id), at: side, of: own)
    if case .reference(let loser) = row[side], loser != partner {
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
  /// cleared the reference. A partner that leads to another record since stays there, and the record has no partner.
  private func rejoinPartner(
    of change: RecordChange, slot: Int, side: Int, in changes: inout PartnerChanges
  ) throws {
    guard let restored = changes[change.id], restored.kind == .inserted,
      case .reference(let partner)? = restored.row?[slot], partner != restored.id
    else { return }
    let own = try changes[partner] ?? partnerChange(of: partner, in: changes) { $0[side].isNull }
    if own?.kind == .deleted { return }
    if let own, own.row?[side].isNull == true { return changes.set(.reference(restored.id), at: side, of: own) }
    let present = try own?.row ?? latestRow(of: partner)
    // A partner that the store does not have any more is a dangling reference, which the store reports.
    guard let row = present, row[side] != .reference(restored.id) else { return }
    guard !restored.entity.checked.required.contains(slot) else { throw unresolved(change, nil) }
    changes.set(.null, at: slot, of: restored)
  }

  /// The error of a conflict whose resolution would take a partner away that a record needs.
  private func unresolved(_ change: RecordChange, _ stored: Row?) -> CoherenceError {
    let mine = change.kind == .deleted ? nil : change.row
    return .versionConflict([Conflict(objectID: change.id, ancestor: change.ancestor, mine: mine, store: stored)])
  }

  /// The change, without values so far, of a record that the save does not change; `nil` if the record's row in the
  /// store does not satisfy a condition.
  private func partnerChange(
    of id: ManagedObjectID, in changes: PartnerChanges, where isWanted: (Row) -> Bool
  ) throws -> RecordChange? {
    guard let former = changes.discarded[id] else {
      guard let added = try addedChange(of: id), added.base.map(isWanted) == true else { return nil }
      return added
    }
    // A change that an earlier attempt has discarded may have an older row than the store.
    let row = changes.isReported(id) ? former.storeRow : try latestRow(of: id)
    return row.flatMap { isWanted($0) ? revivedChange(of: former, over: $0) : nil }
  }

  /// The change, without values so far, of a record that the unit does not have; `nil` for a record that the store does
  /// not have. A discarded change of the record stays discarded until ``revive(_:)``.
  func outsideChange(of id: ManagedObjectID) throws -> RecordChange? {
    guard let former = discarded.first(where: { $0.record.permanentID == id }) else { return try addedChange(of: id) }
    return try latestRow(of: id).map { revivedChange(of: former, over: $0) }
  }

  /// The change, without values so far, of a record that neither the unit nor the discarded changes have; `nil` for a
  /// record that the store does not have.
  private func addedChange(of id: ManagedObjectID) throws -> RecordChange? {
    guard let row = try latestRow(of: id) else { return nil }
    let record = PendingRecord(changing: row)
    if let object = context.storage.registry.object(for: id), object.pending == nil { record.object = object }
    unit.keeper.retain(record)
    return RecordChange(record, kind: .updated, base: row, row: nil, changed: SlotSet())
  }

  /// The change, without values so far, of a record with discarded changes. The record's object is in the context with
  /// the discarded change. A second change would miss the object.
  private func revivedChange(of former: DiscardedChange, over row: Row) -> RecordChange {
    RecordChange(
      former.record, kind: .updated, base: row, row: nil, changed: SlotSet(),
      join: RecordJoin(id: row.id, entity: row.entity, members: [:]))
  }

  private func latestRow(of id: ManagedObjectID) throws -> Row? {
    try context.readingLatest { try context.committedRow(id) }
  }
}

/// The changes of a save, by record and in their order, with the decisions of the policy.
private struct PartnerChanges {
  private(set) var all: [RecordChange]
  /// The records whose changes are added to the resolved ones.
  private(set) var added: Set<ManagedObjectID> = []
  /// The changes that the policy has given up, by record.
  let discarded: [ManagedObjectID: DiscardedChange]
  private let reported: [ManagedObjectID: StoreConflict]
  private let derivedValues: DerivedValues
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
