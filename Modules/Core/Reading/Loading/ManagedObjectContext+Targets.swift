// Targets of to-one relationships, read for many sources at once.

extension ManagedObjectContext {
  /// Returns the target of a to-one relationship of a source. The targets of the source's neighbours are read with it.
  final func target(
    _ id: ManagedObjectID, of relationship: RelationshipDescription, from source: ManagedObject
  ) throws -> ManagedObject {
    if let object = storage.retainedReads.target(id) { return object }
    return try loading {
      enterUnit()
      let id = current(id)
      if storage.registry.object(for: id) == nil, !id.isTemporaryID {
        try makeObjects(of: targets(of: relationship, near: source, and: id), entity: relationship.destination)
      }
      let object = try fault(for: id, of: relationship.destination)
      retain(target: object)
      return object
    }
  }

  /// Returns the identifiers of a source's target and of its neighbours' targets, without registered targets.
  private final func targets(
    of relationship: RelationshipDescription, near source: ManagedObject, and id: ManagedObjectID
  ) -> [ManagedObjectID] {
    guard let slot = relationship.slot, let group = storage.groups.group(of: source) else { return [id] }
    let window = group.window(
      at: Int(source.groupIndex), for: relationship, unit: storage.retainedReads.drops, budget: Self.rowBudget)
    var seen: Set<ManagedObjectID> = [id]
    var candidates = [id]
    for neighbour in storage.registry.objects(for: window) {
      guard let neighbour, neighbour.has(relationship),
        case .reference(let target)? = neighbour.pending?[slot] ?? neighbour.row?[slot],
        !target.isTemporaryID, seen.insert(target).inserted
      else { continue }
      candidates.append(target)
    }
    let unregistered = zip(candidates, storage.registry.objects(for: candidates)).compactMap { $1 == nil ? $0 : nil }
    guard unregistered.count > 1 else { return unregistered }
    let readableIDs = readable(unregistered) { $0 }
    // If the store of the target itself is detached, the read of the target throws.
    return readableIDs.first == id ? readableIDs : [id]
  }

  /// Makes and retains the objects of identifiers: faults to be loaded together, or, where only the row names a
  /// record's entity, loaded objects.
  private final func makeObjects(of ids: [ManagedObjectID], entity: EntityDescription) throws {
    let group = storage.groups.make(.targets)
    let candidates = entity.concreteEntities
    var objects: [ManagedObject] = []
    if candidates.count == 1 {
      objects = ids.map { makeFault($0, entity: candidates[0], in: group) }
    } else {
      if ids.count == 1 { noteFault(of: entity) }
      self.objects(for: try loadRows(ids), into: &objects, in: group)
    }
    storage.groups.enter(group)
    retain(targets: objects)
  }
}
