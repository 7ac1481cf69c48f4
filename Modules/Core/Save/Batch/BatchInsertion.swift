/// A batch insert, resolved for an entity and a store: rows with keys, and the treatment of duplicates.
struct BatchInsertion {
  /// The inserted rows, in the order of the request, and the changed records.
  struct Outcome {
    var rows: [Row] = []
    var updated: [ManagedObjectID] = []
  }

  private let entity: EntityDescription
  private let store: any PersistentStore
  private let derivedValues: DerivedValues
  /// The slots that the request names.
  private let given: SlotSet
  /// The uniqueness constraint by which duplicates are found; `nil` when duplicates are refused.
  private let constraint: BatchConstraint?
  /// Whether a duplicate takes the values of its row.
  private let updatesDuplicates: Bool
  /// The slots that a duplicate may take from its row; `nil` for all given slots.
  private let updatable: SlotSet?
  /// The fresh rows, without duplicates among each other.
  private let rows: [Row]

  var isEmpty: Bool { rows.isEmpty }

  init(
    _ request: BatchInsertRequest, of entity: EntityDescription, in store: any PersistentStore,
    by context: ManagedObjectContext
  ) throws {
    self.entity = entity
    self.store = store
    let coordinator = try context.coordinator()
    derivedValues = DerivedValues(in: coordinator, by: context.transactionAuthor)
    let slots = try request.names.map { try entity.slotForInsert(named: $0) }
    given = SlotSet(slots)
    switch request.duplicatePolicy {
    case .fail: (constraint, updatesDuplicates) = (nil, false)
    case .ignore(let names): (constraint, updatesDuplicates) = (try BatchConstraint(names, of: entity), false)
    case .update(let names): (constraint, updatesDuplicates) = (try BatchConstraint(names, of: entity), true)
    }
    updatable = try request.propertiesToUpdate.map { names in
      SlotSet(try names.map { try entity.slotForInsert(named: $0) })
    }
    let check = BatchRowCheck(of: entity, slots: slots, in: store.identifier, of: coordinator, derivedValues) {
      context.current($0)
    }
    var values = try request.rows.map { try check.values($0) }
    if let constraint { values = constraint.unique(values, keepsLast: updatesDuplicates) }
    guard !values.isEmpty else {
      rows = []
      return
    }
    let keys = try store.allocateKeys(values.count, for: entity.root)
    let space = store.spaces[entity.root]
    rows = values.enumerated().map { index, values in
      Row.make(
        id: ManagedObjectID(space: space, key: keys.lowerBound + Int64(index)), entity: entity,
        version: RecordChange.version(after: nil), values: values)
    }
  }

  /// The to-many relationships among whose owners a duplicate may move.
  var movedLists: [RelationshipDescription] {
    entity.listsDerivedFromRows.filter { $0.inverse?.slot.map(compared.contains) ?? false }
  }

  /// The slots in which a duplicate is compared with its row. A duplicate without a difference is not written.
  private var compared: SlotSet {
    guard updatesDuplicates, let constraint else { return SlotSet() }
    return SlotSet(given.filter { !constraint.slots.contains($0) && updatable?.contains($0) != false })
  }

  /// The slots that a changed duplicate takes from its row: the compared slots, and the derived slots that follow from
  /// them.
  private var written: SlotSet {
    var slots = compared
    for derived in entity.checked.derived where derived.source.map(slots.contains) ?? true {
      slots.insert(derived.slot)
    }
    return slots
  }

  /// Whether a compared reference has a position among the members of its target. Core clears the position of a record
  /// that gets another target; stores do not.
  private var comparesPositions: Bool { compared.contains { !positions(of: $0).isEmpty } }

  /// The slots of the positions that belong to a reference; empty for another slot.
  private func positions(of slot: Int) -> [Int] {
    guard case .reference(let relationship) = entity.slots[slot] else { return [] }
    return relationship.slotsWithPosition.filter { $0 != slot }
  }

  // MARK: Reading

  /// Throws for a reference to a record of a wrong entity. An identifier names its record's hierarchy, not its entity,
  /// so that the records are read.
  private func checkTargets(by context: ManagedObjectContext) throws {
    for slot in given {
      guard case .reference(let relationship) = entity.slots[slot], relationship.destination.superentity != nil else {
        continue
      }
      let targets = rows.compactMap { row -> Int64? in
        if case .reference(let target) = row[slot] { target.key } else { nil }
      }
      guard !targets.isEmpty else { continue }
      let stored = try context.reader(for: store).rows(Set(targets).sorted(), of: relationship.destination.root)
      context.lease.endForSave()
      guard let wrong = stored.first(where: { !$0.entity.isKind(of: relationship.destination) }) else { continue }
      var error = CoherenceError(
        .wrongType,
        "A row of a batch insert gives '\(entity.name).\(relationship.name)' a record of '\(wrong.entity.name)'; give it "
          + "one of '\(relationship.destination.name)'.")
      error.objectIDs = [wrong.id]
      throw error
    }
  }

  // MARK: Writing

  /// Writes the rows and the changes of duplicates: in one operation of the store, or by a save.
  func execute(by fallback: inout BatchFallback) throws -> Outcome {
    try checkTargets(by: fallback.context)
    // `upsert` does not return the former values of changed rows. Positions, participants and derived attributes need
    // them.
    if !comparesPositions, fallback.recording == nil,
      !store.environment.model.derivations.isConcerned(by: [entity], slots: nil),
      let constraint, let store = store as? any BatchUpserting,
      rows.allSatisfy({ constraint.key(of: $0) != nil }),
      let outcome = try store.writing({
        try store.upsert(
          rows, of: entity, constraint: constraint.slots, compared: compared,
          written: compared.isEmpty ? compared : written)
      })
    {
      return Outcome(rows: rows.filter { outcome.inserted.contains($0.key) }, updated: outcome.updated)
    }
    var race = DuplicateRace()
    while true {
      do {
        return try fallback.repeating { try insert(by: &$0, &race) }
      } catch let error as CoherenceError
        where error.code == .uniquenessViolated && constraint != nil && race.mayBeLost
      {
        fallback.context.lease.endForSave()
        race.noteViolation()
      }
    }
  }

  private func insert(by fallback: inout BatchFallback, _ race: inout DuplicateRace) throws -> Outcome {
    guard let constraint else { return try insert(rows, [], by: &fallback) }
    let stored = try constraint.storedRows(for: rows, by: fallback)
    race.storedCount = stored.count
    var fresh: [Row] = []
    var edits: [BatchFallback.Edit] = []
    for row in rows {
      guard let duplicate = constraint.key(of: row).flatMap({ stored[$0] }) else {
        fresh.append(row)
        continue
      }
      guard updatesDuplicates else { continue }
      guard duplicate.entity === entity else { throw constraint.violation(of: row, duplicate) }
      if let edit = edit(of: duplicate, as: row) { edits.append(edit) }
    }
    return try insert(fresh, edits, by: &fallback)
  }

  private func insert(
    _ rows: [Row], _ edits: [BatchFallback.Edit], by fallback: inout BatchFallback
  ) throws -> Outcome {
    if fallback.recording == nil {
      try fallback.save(inserting: rows, of: entity, edits)
    } else {
      try fallback.save(rows.map { BatchFallback.Edit(inserting: $0) } + edits)
    }
    return Outcome(rows: rows, updated: edits.map(\.row.id))
  }

  /// The change that gives a stored record the values of a row; `nil` for equal values.
  private func edit(of stored: Row, as row: Row) -> BatchFallback.Edit? {
    let changed = SlotSet(compared.filter { stored[$0] != row[$0] })
    guard !changed.isEmpty else { return nil }
    var values = stored.values
    var slots = changed
    for slot in changed {
      values[slot] = row[slot]
      for position in positions(of: slot) {
        values[position] = .null
        slots.insert(position)
      }
    }
    for derived in entity.checked.derived where derived.source.map(changed.contains) ?? true {
      values[derived.slot] = derived.value(
        in: { values[$0] }, savedAt: derivedValues.time, by: derivedValues.author)
      slots.insert(derived.slot)
    }
    let next = Row.make(
      id: stored.id, entity: entity, version: RecordChange.version(after: stored), values: values)
    return BatchFallback.Edit(of: stored, writing: next, slots: slots)
  }
}

/// Decides whether a batch insert is tried again after a violation of uniqueness: another writer may have inserted a
/// duplicate since the stored rows were read.
private struct DuplicateRace {
  /// The number of stored duplicates that the present attempt found.
  var storedCount = 0
  /// The greatest number of stored duplicates that an attempt with a violation found.
  private var greatestCount = -1
  /// The number of violations since an attempt last found more duplicates than the attempts before.
  private var violationsWithoutProgress = 0

  /// Whether the last violation may be a lost race. After two attempts that found no further duplicate, the rows
  /// violate another constraint.
  var mayBeLost: Bool { storedCount > greatestCount || violationsWithoutProgress < 2 }

  /// Counts a violation of the present attempt.
  mutating func noteViolation() {
    if storedCount > greatestCount { violationsWithoutProgress = 0 }
    violationsWithoutProgress += 1
    greatestCount = max(greatestCount, storedCount)
  }
}

extension BatchFallback {
  /// Saves rows to insert, without unsaved records for them, together with edits of stored records.
  mutating func save(inserting rows: [Row], of entity: EntityDescription, _ edits: [Edit]) throws {
    guard !rows.isEmpty || !edits.isEmpty else { return }
    var changes = RowChanges()
    for row in rows { _ = changes.insert(row, of: entity) }
    for edit in edits.sorted(by: { $0.row.key < $1.row.key }) {
      guard let row = edit.change.row else { continue }
      changes.update(
        RowUpdate(row: row, baseVersion: edit.row.version), of: entity, slots: edit.change.changed, base: edit.row)
    }
    context.lease.endForSave()
    var saving = try DerivingSave(changes, of: context, in: store)
    // Batch requests do not validate, on any store.
    saving.request.memberCounts = []
    derived = try saving.run(in: store)
  }
}
