import CoherenceCore
import CoherenceReconciliation

/// Applies a plan in the context. Makes objects only of the planned records and of the records that their relationships
/// lead to, before or after the merge.
struct MergeWriter {
  private let context: ActionContext
  private let input: any MergeInput
  private let layout: MergeLayout
  private let inputByKey: InputIndex
  /// The stored records to which links of the input lead, and which no delete rule deletes.
  private let linkedIDs: Set<ManagedObjectID>
  /// The store of inserted records; `nil` for the stores that the context chooses.
  private let store: (any PersistentStore)?
  /// The edits that keep their records although a delete rule reaches them; `nil` without such edits.
  private let cascadeEdits: CascadeEdits?

  /// The planned changes that the writer leaves out.
  struct Omissions {
    /// The number of updates without a change, because local or pending edits win in every differing property.
    var updates = 0
    /// The number of updates without a change, because the differing links lead to records that the merge leaves out.
    var equalUpdates = 0
    /// The number of records that stay, because a record that has to stay cannot leave them.
    var deletions = 0
  }

  init(
    _ basis: MergeBasis, insertingInto store: (any PersistentStore)?, keeping cascadeEdits: CascadeEdits?,
    linkedIDs: Set<ManagedObjectID>
  ) {
    self.linkedIDs = linkedIDs
    context = basis.context
    input = basis.input
    layout = basis.layout
    inputByKey = basis.inputByKey
    self.store = store
    self.cascadeEdits = cascadeEdits
  }

  /// The objects that links may lead to.
  private struct Objects {
    var inserted: [Int: ManagedObject] = [:]
    var existing: [ManagedObjectID: ManagedObject] = [:]

    subscript(target: MergeTargets.Target) -> ManagedObject? {
      switch target {
      case .existing(let id): existing[id]
      case .new(let index): inserted[index]
      case .deleted, .missing: nil
      }
    }
  }

  /// Makes the planned changes, and returns the changes that it leaves out.
  func apply(_ plan: MergePlan) throws -> Omissions {
    let updated = context.objects(for: plan.updates.map(\.row))
    let deleted = context.objects(for: plan.deletes)
    var objects = Objects()
    let insertLinks = try plan.inserts.map { try input.links($0) }
    objects.existing = try context.existingObjects(with: destinationIDs(plan, insertLinks))
    for (count, index) in plan.inserts.enumerated() {
      if count % 256 == 0 { try context.refuseIfCanceled() }
      let object = try input.insert(index, into: context)
      if let store { try context.assign(object, to: store) }
      objects.inserted[index] = object
    }
    for (index, links) in zip(plan.inserts, insertLinks) where !links.isEmpty {
      guard let object = objects.inserted[index] else { continue }
      for (relationship, link) in links {
        let kept = plan.keptTargets[relationship] ?? []
        try set(link, of: relationship, object, plan.targets, objects, leavingOut: kept)
      }
    }
    var values: [AttributeValue?] = []
    for (count, (update, object)) in zip(plan.updates, updated).enumerated() {
      if count % 256 == 0 { try context.refuseIfCanceled() }
      try self.update(object, update, plan.targets, objects, &values)
    }
    let cascades = CascadeTargets(
      layout.storedRows(in: context), inputByKey: inputByKey, linkedIDs: linkedIDs, protection: cascadeEdits)
    let staying = try cascades.release(from: deleted)
    for object in deleted where !staying.contains(object.objectID) { context.delete(object) }
    let unchanged = zip(plan.updates, updated).filter { !$1.hasChanges }
    let kept = unchanged.count { !$0.0.keptSlots.isEmpty }
    return Omissions(updates: kept, equalUpdates: unchanged.count - kept, deletions: staying.count)
  }

  /// The records that changed relationships lead to, before and after the merge. Loading them together saves one query for
  /// each.
  private func destinationIDs(
    _ plan: MergePlan, _ insertLinks: [[(relationship: RelationshipDescription, link: MergeLink)]]
  ) throws -> Set<ManagedObjectID> {
    guard !layout.relationships.isEmpty else { return [] }
    var ids: Set<ManagedObjectID> = []
    func insert(_ link: MergeLink, _ relationship: RelationshipDescription, in store: StoreIdentifier? = nil) {
      for case .existing(let id)? in link.keys.map({ plan.targets.target($0, of: relationship, in: store) }) {
        ids.insert(id)
      }
    }
    for links in insertLinks { for (relationship, link) in links { insert(link, relationship) } }
    for update in plan.updates {
      for (relationship, link) in try input.links(update.index) {
        if let slot = relationship.slot, case .reference(let former) = update.row[slot] { ids.insert(former) }
        insert(link, relationship, in: update.row.id.storeIdentifier)
      }
    }
    for (relationship, lists) in Dictionary(grouping: plan.updates.flatMap(\.lists), by: \.relationship) {
      ids.formUnion(try context.memberIDs(of: relationship, owners: lists.map(\.owner)).values.joined())
    }
    return ids
  }

  /// Sets the values, the to-one links and the members of a record, except for ignored properties and kept slots.
  private func update(
    _ object: ManagedObject, _ update: MergePlan.Update, _ targets: MergeTargets, _ objects: Objects,
    _ values: inout [AttributeValue?]
  ) throws {
    try input.readValues(update.index, into: &values, isChecked: true)
    // An object of another subentity has only the slots of the merge's entity in common with the input record.
    let own = input.entity(update.index)
    let count = object.entity.isKind(of: own) ? own.slotCount : layout.entity.slotCount
    for slot in layout.ignoredSlots { values[slot] = nil }
    for slot in update.keptSlots where slot < values.count { values[slot] = nil }
    for slot in 0..<count {
      if let value = values[slot] { try object.setCheckedValue(value, at: slot) }
    }
    for (relationship, link) in try input.links(update.index)
    where !relationship.isToMany && !layout.ignores(relationship)
      && relationship.slot.map(update.keptSlots.contains) != true && !targets.isLeftOut(link, of: relationship)
      && !isLeftOut(link, of: relationship, targets, objects)
    {
      try set(link, of: relationship, object, targets, objects, in: update.row.id.storeIdentifier)
    }
    for list in update.lists {
      try object.setObjects(list.members.compactMap { objects[$0] }, for: list.relationship.name)
    }
  }

  /// Whether a link leads to an input record that pending or local edits keep out of the store. The stored record keeps
  /// its present target then, which the relationship may require.
  private func isLeftOut(
    _ link: MergeLink, of relationship: RelationshipDescription, _ targets: MergeTargets, _ objects: Objects
  ) -> Bool {
    guard case .one(let key) = link, case .new(let index)? = targets.target(key, of: relationship) else { return false }
    return objects.inserted[index] == nil
  }

  private func set(
    _ link: MergeLink, of relationship: RelationshipDescription, _ object: ManagedObject, _ targets: MergeTargets,
    _ objects: Objects, in store: StoreIdentifier? = nil, leavingOut kept: Set<ManagedObjectID> = []
  ) throws {
    let members = targets.members(link, of: relationship, in: store).compactMap { objects[$0] }
      .filter { kept.isEmpty || !kept.contains($0.objectID) }
    try object.setTargets(members, of: relationship)
  }
}
