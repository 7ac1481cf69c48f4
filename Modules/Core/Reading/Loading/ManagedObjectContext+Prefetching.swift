extension ManagedObjectContext {
  /// Loads relationships of fetched objects. Unsaved objects of detached stores are left out: the fetch has found them
  /// without a read.
  final func prefetch(_ paths: PrefetchPaths, ofFetched objects: [ManagedObject]) throws {
    if !paths.steps.isEmpty { try prefetch(paths, of: readable(objects) { $0.recordID }) }
  }

  /// Loads relationships of objects, and continues from their targets.
  final func prefetch(_ paths: PrefetchPaths, of objects: [ManagedObject]) throws {
    guard !objects.isEmpty, !paths.steps.isEmpty else { return }
    try loading {
      for step in paths.steps { try prefetch(step.next, of: try prefetched(step.name, of: objects)) }
    }
  }

  /// Loads a relationship of several objects, and the rows of its members. Objects of entities without the relationship
  /// are left out.
  ///
  /// - Returns: The members.
  final func prefetch(_ name: String, of objects: [ManagedObject]) throws -> [ManagedObject] {
    try loading { try prefetched(name, of: objects) }
  }

  /// As ``prefetch(_:of:)``, inside of a load.
  private final func prefetched(_ name: String, of objects: [ManagedObject]) throws -> [ManagedObject] {
    enterUnit()
    var members: [ManagedObject] = []
    for (entity, sources) in Dictionary(grouping: objects, by: \.entity) {
      guard let relationship = entity.relationship(named: name) else {
        if let attribute = entity.attribute(named: name), attribute.type.isWeakReference {
          members += try loadReferences(of: attribute, from: sources)
        }
        continue
      }
      let ids =
        relationship.isToMany
        ? try prefetchMembers(of: relationship, owners: sources)
        : try prefetchTargets(of: relationship, sources: sources)
      // Each member has one owner, so that no identifier is repeated.
      let areUnique = relationship.isToMany && relationship.inverse?.isToMany == false
      members += try loadAndRetain(ids, isTarget: !relationship.isToMany, areUnique: areUnique)
    }
    return members
  }

  /// Loads the objects of identifiers, and retains them for the unit of work. The object of a missing record stays a
  /// fault if it is in use, and is left out otherwise.
  ///
  /// - Parameters:
  ///   - isTarget: Whether the objects are targets of to-one relationships, which accessors find without a read.
  ///   - areUnique: Whether no identifier is repeated.
  final func loadAndRetain(
    _ ids: [ManagedObjectID], isTarget: Bool, areUnique: Bool
  ) throws -> [ManagedObject] {
    let ids = areUnique ? ids : ids.unique
    let registered = storage.registry.objects(for: ids)
    let unloaded = zip(ids, registered).compactMap { id, object in object?.isLoaded == true ? nil : id }
    let group = storage.groups.make(.members)
    var fresh: [ManagedObject] = []
    objects(for: try loadRows(unloaded), into: &fresh, in: group)
    storage.groups.enter(group)
    let result = fresh.isEmpty ? registered.compactMap { $0 } : storage.registry.objects(for: ids).compactMap { $0 }
    isTarget ? retain(targets: result) : retain(result)
    withExtendedLifetime(fresh) {}
    return result
  }

  /// Loads the sources of a to-one relationship.
  ///
  /// - Returns: The identifiers of the targets.
  private final func prefetchTargets(
    of relationship: RelationshipDescription, sources: [ManagedObject]
  ) throws -> [ManagedObjectID] {
    try sources.compactMap { object in
      guard case .reference(let id) = try object.loadedValue(at: relationship.slot!) else { return nil }
      return id
    }
  }

  /// Loads the lists of a to-many relationship.
  ///
  /// - Returns: The identifiers of the members.
  private final func prefetchMembers(
    of relationship: RelationshipDescription, owners: [ManagedObject]
  ) throws -> [ManagedObjectID] {
    // An ordered list belongs to a version of its owner's row.
    var loaded: [ManagedObject] = []
    if relationship.isOrdered { objects(for: try loadRows(owners.filter(\.isFault).map(\.recordID)), into: &loaded) }
    let members = try storedMembers(of: relationship, owners: owners.map(\.recordID), isKeeping: true)
    return try owners.flatMap { owner in
      owner.setMemberList(members[owner.recordID] ?? [], of: relationship)
      return try owner.memberIDs(of: relationship)
    }
  }
}

extension [ManagedObjectID] {
  /// The identifiers, each once, in order of the first occurrence.
  fileprivate var unique: [ManagedObjectID] {
    var seen = Set<ManagedObjectID>(minimumCapacity: Swift.min(count, 1_024))
    return filter { seen.insert($0).inserted }
  }
}
