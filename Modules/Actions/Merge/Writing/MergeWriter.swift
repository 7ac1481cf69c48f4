import CoherenceCore

/// Does in the context what a merge is to do, with objects of the records concerned and no others.
struct MergeWriter {
  private let context: ActionContext
  private let input: any MergeInput
  private let layout: MergeLayout

  init(context: ActionContext, input: any MergeInput, layout: MergeLayout) {
    self.context = context
    self.input = input
    self.layout = layout
  }

  /// The objects of a merge, by what refers to them.
  private struct Objects {
    var inserted: [Int: ManagedObject] = [:]
    var existing: [ManagedObjectID: ManagedObject] = [:]

    subscript(target: MergeTargets.Target) -> ManagedObject? {
      switch target {
      case .existing(let id): existing[id]
      case .fresh(let place): inserted[place]
      }
    }
  }

  /// - Returns: The number of updates that change nothing, because edits win in every property that differs.
  @discardableResult
  func write(_ work: MergeWork) throws -> Int {
    let updated = context.objects(for: work.updates.map(\.row))
    let deleted = context.objects(for: work.deletes)
    var objects = Objects()
    let insertLinks = try work.inserts.map { try input.links($0) }
    objects.existing = try context.existingObjects(with: referredIDs(work, insertLinks))
    for (count, place) in work.inserts.enumerated() {
      if count % 256 == 0 { try context.refuseIfCanceled() }
      objects.inserted[place] = try input.insert(place, into: context)
    }
    for (place, links) in zip(work.inserts, insertLinks) where !links.isEmpty {
      guard let object = objects.inserted[place] else { continue }
      for (relationship, link) in links { try set(link, of: relationship, object, work.targets, objects) }
    }
    var values: [AttributeValue?] = []
    for (count, (update, object)) in zip(work.updates, updated).enumerated() {
      if count % 256 == 0 { try context.refuseIfCanceled() }
      try self.update(object, update, work.targets, objects, &values)
    }
    for object in deleted { context.delete(object) }
    return zip(work.updates, updated).count { !$0.keptSlots.isEmpty && !$1.hasChanges }
  }

  /// The records that relationships lead to, now and afterwards: to be loaded together, not one after the other.
  private func referredIDs(
    _ work: MergeWork, _ insertLinks: [[(relationship: RelationshipDescription, link: MergeLink)]]
  ) throws -> Set<ManagedObjectID> {
    guard !layout.relationships.isEmpty else { return [] }
    var ids: Set<ManagedObjectID> = []
    func note(_ link: MergeLink, _ relationship: RelationshipDescription) {
      for case .existing(let id)? in link.keys.map({ work.targets.target($0, of: relationship) }) { ids.insert(id) }
    }
    for links in insertLinks { for (relationship, link) in links { note(link, relationship) } }
    for update in work.updates {
      for (relationship, link) in try input.links(update.place) {
        if let slot = relationship.slot, case .reference(let former) = update.row[slot] { ids.insert(former) }
        note(link, relationship)
      }
    }
    for (relationship, wishes) in Dictionary(grouping: work.updates.flatMap(\.lists), by: \.relationship) {
      ids.formUnion(try context.memberIDs(of: relationship, owners: wishes.map(\.owner)).values.joined())
    }
    return ids
  }

  private func update(
    _ object: ManagedObject, _ update: MergeWork.Update, _ targets: MergeTargets, _ objects: Objects,
    _ values: inout [AttributeValue?]
  ) throws {
    try input.readValues(update.place, into: &values, isChecked: true)
    let own = input.entity(update.place)
    let count = object.entity.isKind(of: own) ? own.slotCount : layout.entity.slotCount
    for slot in layout.keptSlots { values[slot] = nil }
    for slot in update.keptSlots where slot < values.count { values[slot] = nil }
    for slot in 0..<count {
      if let value = values[slot] { try object.setCheckedValue(value, at: slot) }
    }
    for (relationship, link) in try input.links(update.place)
    where !relationship.isToMany && !layout.ignores(relationship)
      && relationship.slot.map(update.keptSlots.contains) != true
    {
      try set(link, of: relationship, object, targets, objects)
    }
    for wish in update.lists {
      try object.setObjects(wish.members.compactMap { objects[$0] }, for: wish.relationship.name)
    }
  }

  private func set(
    _ link: MergeLink, of relationship: RelationshipDescription, _ object: ManagedObject, _ targets: MergeTargets,
    _ objects: Objects
  ) throws {
    let members = targets.members(link, of: relationship).compactMap { objects[$0] }
    if relationship.isToMany {
      try object.setObjects(members, for: relationship.name)
    } else {
      try object.setObject(members.first, for: relationship.name)
    }
  }
}
