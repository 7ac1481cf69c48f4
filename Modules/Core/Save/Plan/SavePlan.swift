/// Orders a unit of work into steps that no engine needs deferred constraints for. A pure function of the unit and the
/// model.
///
/// 1. Deletes of links, and clearing of slots that hinder later steps: references to deleted records, values that
///    change places under a uniqueness constraint.
/// 2. Deletes, referring records before those that they refer to.
/// 3. Inserts, referred-to records first; references without a target yet are written null.
/// 4. Updates, then the references left out in 3, then new links.
struct SavePlan {
  let unit: UnitOfWork
  /// The updates that write their rows; others change links alone.
  let updates: [RecordChange]

  init(_ unit: UnitOfWork) {
    self.unit = unit
    updates = unit.updates.filter(\.isWritten)
  }

  var request: StoreSaveRequest {
    let (insertSteps, fixSteps) = insertion
    return StoreSaveRequest(
      steps: unit.links.unlinkSteps + clearing + deletion + insertSteps + updating + fixSteps + unit.links.linkSteps,
      memberCounts: memberCounts)
  }

  // MARK: Clearing

  /// References to deleted records that a store would miss, and values that change places, set to null first.
  private var clearing: [SaveStep] {
    let deletes = unit.deletes.all
    guard !updates.isEmpty || !deletes.isEmpty else { return [] }
    let deleted = Set(deletes.map(\.id))
    var rows: [SlotGroup: [Row]] = [:]
    let released = releasedSlots
    guard !deleted.isEmpty || !released.isEmpty else { return [] }
    for change in updates + deletes {
      guard let base = change.base else { continue }
      var slots = released[change.id] ?? SlotSet()
      if !deleted.isEmpty {
        for slot in change.entity.constrainedSlots {
          if case .reference(let target) = base[slot], deleted.contains(target), target != change.id {
            slots.insert(slot)
          }
        }
      }
      guard !slots.isEmpty else { continue }
      rows[SlotGroup(change.entity, slots), default: []].append(base.clearing(slots, version: base.version))
    }
    return rows.sorted { $0.key.precedes($1.key) }.map { .fix($0.key.entity, slots: $0.key.slots, $0.value) }
  }

  /// Slots of updated records under a uniqueness constraint whose old values another record of the save takes over.
  private var releasedSlots: [ManagedObjectID: SlotSet] {
    var result: [ManagedObjectID: SlotSet] = [:]
    // Most saves leave unique values alone.
    let isConcerned = updates.contains { change in
      change.entity.uniqueSlots.contains { change.changed.contains($0) }
    }
    guard isConcerned else { return result }
    for (entity, group) in Dictionary(grouping: updates, by: { $0.entity.root }) {
      let fresh = unit.inserts.groups.filter { $0.entity.root === entity }.flatMap(\.changes)
      let constraints = Set(entity.hierarchy.flatMap(\.uniquenessConstraints))
      for constraint in constraints {
        let slots = constraint.map(\.slotInRow)
        let concerned = group.filter { change in
          change.entity.uniquenessConstraints.contains(constraint) && slots.contains { change.changed.contains($0) }
        }
        guard !concerned.isEmpty else { continue }
        let claiming = concerned + fresh.filter { $0.entity.uniquenessConstraints.contains(constraint) }
        guard claiming.count > 1 else { continue }
        let wanted = Set(claiming.compactMap(\.row).map { row in slots.map { row[$0] } })
        for change in concerned {
          guard let base = change.base, wanted.contains(slots.map { base[$0] }) else { continue }
          result[change.id, default: SlotSet()].insert(slots.first { change.changed.contains($0) }!)
        }
      }
    }
    return result
  }

  // MARK: Deleting

  private var deletion: [SaveStep] {
    ranked(unit.deletes.groups, by: { -$0 }).map { group in
      .delete(group.entity, group.changes.map { RowDelete(id: $0.id, baseVersion: $0.baseVersion) })
    }
  }

  // MARK: Inserting

  private var insertion: (inserts: [SaveStep], fixes: [SaveStep]) {
    let groups = ranked(unit.inserts.groups, by: { $0 })
    guard groups.contains(where: { !$0.entity.referenceSlots.isEmpty }) else {
      return (groups.map { .insert($0.entity, $0.rows) }, [])
    }
    var pending = Set(groups.lazy.flatMap(\.rows).map(\.id))
    var steps: [SaveStep] = []
    var fixes: [SlotGroup: [Row]] = [:]
    for group in groups {
      let entity = group.entity
      var rows: [Row] = []
      rows.reserveCapacity(group.rows.count)
      for row in group.rows {
        pending.remove(row.id)
        var late = SlotSet()
        for slot in entity.referenceSlots {
          if case .reference(let target) = row[slot], pending.contains(target) { late.insert(slot) }
        }
        rows.append(late.isEmpty ? row : row.clearing(late, version: row.version))
        if !late.isEmpty { fixes[SlotGroup(entity, late), default: []].append(row) }
      }
      steps.append(.insert(entity, rows))
    }
    return (steps, fixes.sorted { $0.key.precedes($1.key) }.map { .fix($0.key.entity, slots: $0.key.slots, $0.value) })
  }

  // MARK: Updating

  private var updating: [SaveStep] {
    var keys: [SlotGroup] = []
    var groups: [[RowUpdate]] = []
    var places: [SlotGroup: Int] = [:]
    for change in updates {
      guard let row = change.row else { continue }
      let update = RowUpdate(row: row, baseVersion: change.baseVersion)
      let key = SlotGroup(change.entity, change.changed)
      // Most saves change the same slots of many records in a row.
      let place = keys.last == key ? keys.count - 1 : places[key] ?? keys.count
      if place == keys.count {
        places[key] = place
        keys.append(key)
        groups.append([])
      }
      groups[place].append(update)
    }
    return zip(keys, groups).sorted { $0.0.precedes($1.0) }.map { .update($0.entity, slots: $0.slots, $1) }
  }

  /// The groups in the order of their entities' ranks.
  private func ranked(_ groups: [ChangesByEntity.Group], by rank: (Int) -> Int) -> [ChangesByEntity.Group] {
    guard groups.count > 1 else { return groups }
    let ranks = ReferenceRanks(groups.map(\.entity))
    return groups.sorted { left, right in
      let (a, b) = (rank(ranks[left.entity]), rank(ranks[right.entity]))
      return a == b ? left.entity.position < right.entity.position : a < b
    }
  }
}

/// An entity and some of its slots.
private struct SlotGroup: Hashable {
  let entity: EntityDescription
  let slots: SlotSet

  static func == (left: SlotGroup, right: SlotGroup) -> Bool {
    left.entity === right.entity && left.slots == right.slots
  }
  init(_ entity: EntityDescription, _ slots: SlotSet) {
    self.entity = entity
    self.slots = slots
  }
  func precedes(_ other: SlotGroup) -> Bool {
    entity === other.entity
      ? slots.lexicographicallyPrecedes(other.slots) : entity.position < other.entity.position
  }
}

/// How many entities have to be inserted before each entity. Cycles are cut where they are met.
private struct ReferenceRanks {
  private var ranks: [ObjectIdentifier: Int] = [:]

  init(_ entities: [EntityDescription]) {
    var visiting: Set<ObjectIdentifier> = []
    for entity in entities.sorted(by: { $0.position < $1.position }) { _ = visit(entity, entities, &visiting) }
  }

  subscript(entity: EntityDescription) -> Int { ranks[ObjectIdentifier(entity)] ?? 0 }

  private mutating func visit(
    _ entity: EntityDescription, _ all: [EntityDescription], _ visiting: inout Set<ObjectIdentifier>
  ) -> Int {
    let key = ObjectIdentifier(entity)
    if let rank = ranks[key] { return rank }
    guard visiting.insert(key).inserted else { return 0 }
    var rank = 0
    for relationship in entity.relationships where !relationship.isToMany {
      for target in all where target !== entity && target.isKind(of: relationship.destination) {
        rank = max(rank, visit(target, all, &visiting) + 1)
      }
    }
    ranks[key] = rank
    return rank
  }
}

extension Row {
  /// The same row with slots cleared.
  func clearing(_ slots: SlotSet, version: Int64) -> Row {
    var values = values
    for slot in slots { values[slot] = .null }
    return Row.make(id: id, entity: entity, version: version, values: values)
  }
}

extension PropertyDescription {
  /// The slot of an attribute or to-one relationship.
  var slotInRow: Int {
    switch self {
    case let attribute as AttributeDescription: attribute.slot
    case let relationship as RelationshipDescription: relationship.slot ?? -1
    default: -1
    }
  }
}

extension EntityDescription {
  /// The slots whose references lead to existing records. Other references may dangle, and are left alone.
  fileprivate var constrainedSlots: [Int] {
    referenceSlots.filter { slot in
      guard case .reference(let relationship) = slots[slot] else { return false }
      return relationship.isConstrained
    }
  }
}
