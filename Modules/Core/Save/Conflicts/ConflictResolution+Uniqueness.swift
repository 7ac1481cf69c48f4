// The resolution of a save that a store refuses, because records of the save have the unique values of other records.
// "Join" means that an inserted record becomes another record; see the documentation of `MergePolicy`.

extension ConflictResolution {
  /// Joins inserted records with the stored records of the same unique values, and restores the former unique values of
  /// updated records, as the policy decides.
  ///
  /// - Parameter refusal: The error of the store.
  /// - Returns: `false` when no record has the values any more, because another writer has deleted or changed the
  ///   record.
  /// - Throws: The refusal, with the records and values of the collision, when the policy does not resolve it; errors
  ///   of the policy, and of the store during reads.
  mutating func resolve(_ refusal: CoherenceError, by policy: MergePolicy) throws -> Bool {
    let collisions = try UniqueCollisions(of: unit, in: store, reading: context).all()
    guard !collisions.isEmpty else { return false }
    var round = JoinRound(self, refusal, policy)
    if policy.isCustom {
      try context.refusingChanges(of: unit.changes) { try round.resolve(collisions) }
    } else {
      try round.resolve(collisions)
    }
    self = round.resolution
    try rebuild(from: round.changes)
    return true
  }

  /// Whether a record that inserted records became still exists, and has unique values of each of them. A record that
  /// the save itself changes may have got these values by the save.
  func isStillJoined(_ id: ManagedObjectID, _ storeRow: Row?) -> Bool {
    guard let storeRow else { return false }
    let changes = joins.changesBeforeJoins(of: id)
    return changes.contains { $0.id == id }
      || changes.allSatisfy { change in change.row.map { sharesUniqueValues($0, storeRow) } ?? true }
  }

  /// Whether two rows have the same values under a constraint of the first row's entity.
  private func sharesUniqueValues(_ row: Row, _ other: Row) -> Bool {
    var ancestor: EntityDescription? = row.entity
    while let entity = ancestor {
      let isShared = store.environment.ownConstraints(of: entity).contains { properties in
        properties.allSatisfy { !row[$0.slotInRow].isNull && row[$0.slotInRow] == other[$0.slotInRow] }
      }
      if isShared { return true }
      ancestor = entity.superentity
    }
    return false
  }

  /// Reverts all joins, because another writer deleted a record that inserted records became.
  mutating func separateAll() throws {
    var changes = unit.changes
    var separated: [ManagedObjectID: ManagedObjectID] = [:]
    // The changes from before the joins have no join.
    changes.removeAll { $0.join != nil && joins.isTarget($0.id) }
    for id in joins.targets { changes += separate(id, &separated) }
    try rebuild(from: redirected(changes, separated))
  }

  /// Reverts the joins of a record.
  ///
  /// - Parameter separated: Receives, for the record, the inserted record to which references lead again.
  /// - Returns: The changes from before the joins.
  mutating func separate(
    _ id: ManagedObjectID, _ separated: inout [ManagedObjectID: ManagedObjectID]
  ) -> [RecordChange] {
    let originals = joins.separate(id)
    permanentIDs.separate(originals.flatMap { [$0.record.id, $0.id] })
    lists.forget(id)
    // If the save also changed the record itself, the references from before the join are unknown, and stay.
    if let first = originals.first, !originals.contains(where: { $0.id == id }) { separated[id] = first.id }
    return originals
  }
}

/// One round of the resolution of collisions: the changes of the unit by record, and the decisions made so far.
private struct JoinRound {
  private(set) var resolution: ConflictResolution
  private let refusal: CoherenceError
  private let policy: MergePolicy
  /// The changed records, in the order of the unit.
  private var order: [ManagedObjectID] = []
  /// The changes as they are decided so far, by record.
  private var current: [ManagedObjectID: RecordChange] = [:]
  /// The records decided in this round. Their further collisions are left to the next round, whose reads see the
  /// decisions.
  private var decided: Set<ManagedObjectID> = []
  /// The records that inserted records became in this round, by the inserted records.
  private var targets: [ManagedObjectID: ManagedObjectID] = [:]
  /// The inserted records of ``targets``, by the records that they became. A save may join very many records, so that
  /// no join passes over the others.
  private var sources: [ManagedObjectID: [ManagedObjectID]] = [:]

  init(_ resolution: ConflictResolution, _ refusal: CoherenceError, _ policy: MergePolicy) {
    self.resolution = resolution
    self.refusal = refusal
    self.policy = policy
    for change in resolution.unit.changes { put(change) }
  }

  /// The changes after the round.
  var changes: [RecordChange] { resolution.redirected(order.compactMap { current[$0] }, targets) }

  private mutating func put(_ change: RecordChange) {
    if current.updateValue(change, forKey: change.id) == nil { order.append(change.id) }
  }

  /// Decides about the collisions of a round.
  mutating func resolve(_ collisions: [UniqueCollisions.Collision]) throws {
    for collision in collisions where !decided.contains(collision.claimant) {
      guard let claimant = current[collision.claimant] else { continue }
      decided.insert(claimant.id)
      if claimant.kind == .inserted, claimant.base == nil {
        try join(claimant, collision)
      } else {
        try restoreUniqueValues(claimant, collision)
      }
    }
  }

  // MARK: Updates

  /// Restores the former unique values of an updated record.
  private mutating func restoreUniqueValues(_ change: RecordChange, _ collision: UniqueCollisions.Collision) throws {
    guard policy.givesUniqueValuesBack, change.kind == .updated, let base = change.base, let row = change.row,
      isStored(collision)
    else { throw refused(collision) }
    if policy.discardsChanges, change.join == nil {
      current[change.id] = nil
      resolution.discarded.append(DiscardedChange(record: change.record, storeRow: base))
      return
    }
    var (values, changed) = (row.values, change.changed)
    for slot in collision.constraint.map(\.slotInRow) {
      values[slot] = base[slot]
      changed.remove(slot)
    }
    change.entity.derive(&values, mine: row, over: base, changesLists: change.changesLists)
    for derived in change.entity.checked.derived where values[derived.slot] == base[derived.slot] {
      changed.remove(derived.slot)
    }
    let written = Row.make(id: change.id, entity: change.entity, version: row.version, values: values)
    put(change.rewritten(row: changed.isEmpty && !change.changesLists ? nil : written, changed: changed))
  }

  /// Whether the other record has the values in the store already, and does not get them from the same save.
  private func isStored(_ collision: UniqueCollisions.Collision) -> Bool {
    guard case .saved(let id) = collision.holder else { return true }
    guard let holder = current[id], holder.kind == .updated else { return false }
    return !collision.constraint.contains { holder.changed.contains($0.slotInRow) }
  }

  // MARK: Inserts

  /// Has an inserted record become the record that holds its unique values.
  private mutating func join(_ change: RecordChange, _ collision: UniqueCollisions.Collision) throws {
    guard !(change.object is any DiscardedOnCollision) else { throw refused(collision) }
    let holder = targets[collision.holder.id] ?? collision.holder.id
    let target = current[holder]
    let entity: EntityDescription
    let stored: Row
    switch (target, collision.holder) {
    case (let target?, _):
      guard target.kind != .deleted, let row = target.row else { throw refused(collision) }
      (entity, stored) = (target.entity, row)
    case (nil, .stored(let row)): (entity, stored) = (row.entity, row)
    // The holder was decided in this round. The next round finds its present values.
    case (nil, .saved): return
    }
    guard entity.isKind(of: change.entity) else { throw refused(collision, entity) }
    try merge(change, into: target, stored, collision)
  }

  /// Turns the change of an inserted record into a change of the other record with its unique values.
  ///
  /// - Parameters:
  ///   - target: The other record's own change in the same save; `nil` for none.
  ///   - stored: The other record's row, as the store has it or as the save would write it.
  private mutating func merge(
    _ change: RecordChange, into target: RecordChange?, _ stored: Row, _ collision: UniqueCollisions.Collision
  ) throws {
    guard let inserted = change.row else { return }
    let id = stored.id
    resolution.joins.note(change, becoming: id, besides: target, in: resolution.store.environment.model)
    resolution.permanentIDs.join([change.record.id, change.id], to: id)
    // Records that became the inserted record become the other record too.
    let joined = [change.id] + (sources.removeValue(forKey: change.id) ?? [])
    for source in joined { targets[source] = id }
    sources[id, default: []] += joined
    let join = RecordJoin(id: id, entity: stored.entity, members: members(of: change, added: target))
    let draft =
      target.map { $0.rewritten(row: $0.row, changed: $0.changed, join: join) }
      ?? RecordChange(
        change.record, kind: .updated, base: stored, row: nil, changed: SlotSet(), join: join)
    let lists = try listConflicts(of: draft)
    var values = stored.values
    for slot in 0..<inserted.count { values[slot] = inserted[slot] }
    let mine = Row.make(id: id, entity: stored.entity, version: stored.version, values: values)
    var conflict = Conflict(objectID: id, ancestor: nil, mine: mine, store: stored, lists: lists)
    conflict.uniqueProperties = collision.constraint.map(\.name)
    let assigned = change.assignedSlots
    switch try policy.resolve(conflict, changed: assigned, mergesProperties: false) {
    case .write(let result): values = result
    case .discard: values = stored.values
    case .fail, .delete: throw refused(collision)
    }
    resolution.lists.decide(lists, of: draft, resolution.permanentIDs) { _ in false }
    current[change.id] = nil
    put(written(values, assigned.union(target?.assignedSlots ?? SlotSet()), over: draft, mine))
    try restoreOneToOne(of: change, inserted, as: id, stored, values, collision)
  }

  /// The change that writes the decided values.
  ///
  /// - Parameters:
  ///   - assigned: The slots that the save assigns, in the inserted record and in the other record.
  ///   - draft: The change without values.
  ///   - mine: The other record's row with the values of the inserted record.
  private func written(
    _ decided: [AttributeValue], _ assigned: SlotSet, over draft: RecordChange, _ mine: Row
  ) -> RecordChange {
    var values = decided
    let base = draft.base
    draft.entity.derive(&values, mine: mine, over: base, changesLists: draft.changesLists)
    let row = Row.make(
      id: draft.id, entity: draft.entity, version: RecordChange.version(after: base), values: values)
    guard let base else { return draft.rewritten(row: row, changed: assigned) }
    let changed = SlotSet(values.indices.filter { values[$0] != base[$0] })
    return draft.rewritten(row: changed.isEmpty && !draft.changesLists ? nil : row, changed: changed)
  }

  /// The changes of members after the join: the other record's own changes, and the members of the inserted record.
  private func members(
    of change: RecordChange, added target: RecordChange?
  ) -> [RelationshipDescription: MemberChanges] {
    let ids = resolution.permanentIDs
    var result = target?.members ?? [:]
    for (relationship, changes) in change.members where !changes.isEmpty {
      var fresh = changes.mapped { ids[$0] }
      // The order of the inserted record's members does not apply to the members of the other record.
      fresh.order = nil
      result[relationship, default: MemberChanges()].merge(fresh, isOrdered: relationship.isOrdered)
    }
    return result
  }

  /// The ordered lists that the change of a joined record merges with the other record's lists. A record that the same
  /// save inserts has no stored lists.
  private mutating func listConflicts(of draft: RecordChange) throws -> [ListConflict] {
    guard draft.kind == .inserted else { return try resolution.lists.lists(of: draft, resolution.permanentIDs) }
    return draft.members.filter { $0.key.isOrdered && !$0.value.isEmpty }.map { relationship, changes in
      ListConflict(relationship: relationship, ancestor: nil, mine: changes.added, store: [])
    }
  }

  // MARK: One-to-one relationships

  /// Makes both sides of one-to-one relationships agree with the decided values: the partner that lost, of the stored
  /// or of the inserted record, loses its reference.
  private mutating func restoreOneToOne(
    of change: RecordChange, _ inserted: Row, as id: ManagedObjectID, _ stored: Row, _ values: [AttributeValue],
    _ collision: UniqueCollisions.Collision
  ) throws {
    for relationship in change.entity.relationships {
      guard let slot = relationship.slot, let inverseSlot = relationship.inverse?.slot else { continue }
      resolution.notePartners(in: [inserted, stored], at: slot)
      for case .reference(let partner) in Set([inserted[slot], stored[slot]])
      where values[slot] != .reference(partner) && partner != id {
        try clear(inverseSlot, of: targets[partner] ?? partner, if: [id, change.id], collision)
      }
    }
  }

  /// Clears a reference of a record if the reference leads to one of some targets.
  private mutating func clear(
    _ slot: Int, of id: ManagedObjectID, if targets: Set<ManagedObjectID>, _ collision: UniqueCollisions.Collision
  ) throws {
    guard let change = try current[id] ?? resolution.outsideChange(of: id), change.kind != .deleted else { return }
    guard let row = change.row ?? change.base, case .reference(let target) = row[slot], targets.contains(target) else {
      return
    }
    guard !change.entity.checked.required.contains(slot) else { throw refused(collision) }
    put(change.writing(.null, at: slot, over: row, resolution.derivedValues))
    resolution.revive([id])
  }

  // MARK: Refusals

  /// The error of a collision that the policy does not resolve.
  ///
  /// - Parameter entity: The entity of the other record, if an inserted record cannot become a record of it.
  private func refused(_ collision: UniqueCollisions.Collision, _ entity: EntityDescription? = nil) -> CoherenceError {
    var error = refusal
    let name = collision.claimant.entity.name
    let names = collision.constraint.map(\.name)
    if let entity {
      let inserted = current[collision.claimant]?.entity.name ?? name
      error.message =
        "A record of '\(entity.name)' has the values of the inserted record of '\(inserted)' in "
        + "\(names.map { "'\($0)'" }.joined(separator: ", ")), and the inserted record cannot become a record of that "
        + "entity; change the present record, or give the new one other values."
    }
    // Users know an inserted record that became a stored record by its own identifier.
    let claimant = current[collision.claimant].flatMap { $0.isTakeover ? $0.record.id : nil }
    error.objectIDs = [claimant ?? collision.claimant, collision.holder.id]
    error.uniqueness = UniquenessViolation(
      entityName: collision.constraint.first?.entity.name ?? name, propertyNames: names, values: collision.values)
    return error
  }
}

extension RecordChange {
  /// The assigned slots of an inserted record that no record joined; the changed slots of any other record.
  fileprivate var assignedSlots: SlotSet {
    kind == .inserted && join == nil ? record.assignedSlots : changed
  }
}
