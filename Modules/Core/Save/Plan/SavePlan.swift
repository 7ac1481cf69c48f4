/// Orders the row changes of a save into steps for which no engine needs deferred constraints. A pure function of the
/// changes and the model.
///
/// 1. Links are removed. Slots that hinder later steps are cleared: references to records deleted before the referring
///    row, and unique values that move from one record to another.
/// 2. Rows are deleted, referring entities before the entities that they refer to.
/// 3. Rows are inserted, referred-to entities before referring ones. A reference to a later row is written null.
/// 4. Rows are updated, then the null references of step 3 are filled in, then links are added.
struct SavePlan {
  let changes: RowChanges

  init(_ changes: RowChanges) { self.changes = changes }

  /// The steps, with the numbers of members that the store checks after them.
  var request: StoreSaveRequest {
    let (inserting, fixing) = insertion
    return StoreSaveRequest(
      steps: changes.links.unlinkSteps + clearing + deleting + inserting + updating + fixing + changes.links.linkSteps,
      memberCounts: memberCounts)
  }

  // MARK: Clearing

  /// The steps that set references to deleted records and moving unique values to null.
  private var clearing: [SaveStep] {
    guard !changes.updates.isEmpty || !changes.deletes.isEmpty else { return [] }
    let deletes = rankedDeletes
    let moving = movingUniqueSlots
    var cleared = ClearedReferences(deletes)
    var rows: [SlotGroup: [Row]] = [:]
    func clear(_ id: ManagedObjectID, _ entity: EntityDescription, _ base: Row?, _ candidates: [Int], before step: Int)
    {
      guard let base else { return }
      var slots = moving[id] ?? SlotSet()
      for slot in candidates {
        if case .reference(let target) = base[slot], target != id, cleared.isDeleted(target, before: step) {
          slots.insert(slot)
        }
      }
      guard !slots.isEmpty else { return }
      rows[SlotGroup(entity, slots), default: []].append(base.clearing(slots))
    }
    for group in changes.updates {
      let candidates = cleared.candidates(of: group.entity, before: deletes.count)
      guard !candidates.isEmpty || !moving.isEmpty else { continue }
      for (update, base) in zip(group.updates, group.bases) {
        clear(update.row.id, group.entity, base, candidates, before: deletes.count)
      }
    }
    for (step, group) in deletes.enumerated() {
      // A row deleted before its target needs no update first.
      let candidates = cleared.candidates(of: group.entity, before: step + 1)
      guard !candidates.isEmpty else { continue }
      for (delete, base) in zip(group.deletes, group.bases) {
        clear(delete.id, group.entity, base, candidates, before: step + 1)
      }
    }
    return Self.fixes(rows)
  }

  /// The slots of updated records whose old unique values another row of the save takes over.
  private var movingUniqueSlots: [ManagedObjectID: SlotSet] {
    var result: [ManagedObjectID: SlotSet] = [:]
    // Most saves change no unique value.
    let changing = changes.updates.filter { group in
      group.entity.uniqueSlots.contains { group.slots.contains($0) }
    }
    guard !changing.isEmpty else { return result }
    for (root, groups) in Dictionary(grouping: changing, by: { $0.entity.root }) {
      let inserts = changes.inserts.filter { $0.entity.root === root }
      for constraint in Set(root.hierarchy.flatMap(\.uniquenessConstraints)) {
        note(constraint, groups, inserts, in: &result)
      }
    }
    return result
  }

  /// Notes the slots of one uniqueness constraint whose old values another row takes over.
  ///
  /// - Parameters:
  ///   - groups: The updates of the hierarchy that change unique values.
  ///   - inserts: The inserts of the hierarchy.
  private func note(
    _ constraint: [PropertyDescription], _ groups: [RowChanges.Updates], _ inserts: [RowChanges.Inserts],
    in result: inout [ManagedObjectID: SlotSet]
  ) {
    let slots = constraint.map(\.slotInRow)
    let concerned = groups.filter { group in
      group.entity.uniquenessConstraints.contains(constraint) && slots.contains { group.slots.contains($0) }
    }
    guard !concerned.isEmpty else { return }
    let fresh = inserts.filter { $0.entity.uniquenessConstraints.contains(constraint) }
    let rows = concerned.flatMap { $0.updates.map(\.row) } + fresh.flatMap(\.rows)
    guard rows.count > 1 else { return }
    let wanted = Set(rows.map { row in slots.map { row[$0] } })
    for group in concerned {
      // One missing value frees the values: a constraint compares no row with a missing value.
      guard let slot = slots.first(where: { group.slots.contains($0) }) else { continue }
      for (update, base) in zip(group.updates, group.bases) {
        guard let base, wanted.contains(slots.map { base[$0] }) else { continue }
        result[update.row.id, default: SlotSet()].insert(slot)
      }
    }
  }

  // MARK: Deleting

  /// The deletes, referring entities before the entities that they refer to.
  private var rankedDeletes: [RowChanges.Deletes] { ranked(changes.deletes, \.entity, by: { -$0 }) }

  private var deleting: [SaveStep] { rankedDeletes.map { .delete($0.entity, $0.deletes) } }

  // MARK: Inserting

  /// The inserts, and the fixes of references to later rows.
  private var insertion: (inserts: [SaveStep], fixes: [SaveStep]) {
    let groups = ranked(changes.inserts, \.entity, by: { $0 })
    guard groups.contains(where: { !$0.entity.referenceSlots.isEmpty }) else {
      return (groups.map { .insert($0.entity, $0.rows) }, [])
    }
    // The rows that no step so far inserts.
    var uninserted = Set(groups.lazy.flatMap(\.rows).map(\.id))
    var steps: [SaveStep] = []
    var fixes: [SlotGroup: [Row]] = [:]
    for group in groups {
      let entity = group.entity
      var rows: [Row] = []
      rows.reserveCapacity(group.rows.count)
      for row in group.rows {
        uninserted.remove(row.id)
        var lateSlots = SlotSet()
        for slot in entity.referenceSlots {
          if case .reference(let target) = row[slot], uninserted.contains(target) { lateSlots.insert(slot) }
        }
        rows.append(lateSlots.isEmpty ? row : row.clearing(lateSlots))
        if !lateSlots.isEmpty { fixes[SlotGroup(entity, lateSlots), default: []].append(row) }
      }
      steps.append(.insert(entity, rows))
    }
    return (steps, Self.fixes(fixes))
  }

  // MARK: Updating

  private var updating: [SaveStep] {
    let groups = changes.updates.sorted { left, right in
      SlotGroup(left.entity, left.slots).precedes(SlotGroup(right.entity, right.slots))
    }
    return groups.map { .update($0.entity, slots: $0.slots, $0.updates) }
  }

  // MARK: Order

  /// The steps that write some slots of rows, in an order that every process repeats.
  private static func fixes(_ rows: [SlotGroup: [Row]]) -> [SaveStep] {
    rows.sorted { $0.key.precedes($1.key) }.map { .fix($0.key.entity, slots: $0.key.slots, $0.value) }
  }

  /// The groups in the order of their entities' ranks.
  private func ranked<Group>(
    _ groups: [Group], _ entity: (Group) -> EntityDescription, by rank: (Int) -> Int
  ) -> [Group] {
    guard groups.count > 1 else { return groups }
    let ranks = ReferenceRanks(groups.map(entity))
    return groups.sorted { left, right in
      let (first, second) = (entity(left), entity(right))
      let (a, b) = (rank(ranks[first]), rank(ranks[second]))
      return a == b ? first.position < second.position : a < b
    }
  }
}

/// The references that a save clears because it deletes their targets in earlier steps.
private struct ClearedReferences {
  private let deletes: [RowChanges.Deletes]
  /// The number of the step that deletes each deleted record. Made for the first reference that may lead to one.
  private lazy var steps: [ManagedObjectID: Int] = {
    var steps = [ManagedObjectID: Int](minimumCapacity: deletes.reduce(0) { $0 + $1.deletes.count })
    for (step, group) in deletes.enumerated() {
      for delete in group.deletes { steps[delete.id] = step }
    }
    return steps
  }()

  /// - Parameter deletes: The deletes of the save, one step for each group.
  init(_ deletes: [RowChanges.Deletes]) { self.deletes = deletes }

  /// The slots of references that may lead to records deleted before a step.
  func candidates(of entity: EntityDescription, before step: Int) -> [Int] {
    guard step > 0 else { return [] }
    return entity.constrainedSlots.filter { slot in
      guard case .reference(let relationship) = entity.slots[slot] else { return false }
      // A record of any entity of the hierarchy may be a target: older rows may refer to an entity that the present model
      // does not allow.
      return deletes[..<step].contains { $0.entity.root === relationship.destination.root }
    }
  }

  /// Whether a record is deleted before a step.
  mutating func isDeleted(_ id: ManagedObjectID, before step: Int) -> Bool { steps[id].map { $0 < step } ?? false }
}

/// The rank of each entity in the order of inserts: greater than the ranks of all entities to which it refers. A cycle
/// of references is cut at the entity where the search closes it.
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
  /// The row with slots set to null.
  func clearing(_ slots: SlotSet) -> Row {
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
  /// The slots whose references the store checks against existing records. Other references may dangle, and stay.
  var constrainedSlots: [Int] {
    referenceSlots.filter { slot in
      guard case .reference(let relationship) = slots[slot] else { return false }
      return relationship.isConstrained
    }
  }
}
