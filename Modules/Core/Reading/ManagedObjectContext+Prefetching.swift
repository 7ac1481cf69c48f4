extension ManagedObjectContext {
  /// Loads relationships of objects, and continues from their targets.
  final func prefetch(_ paths: PrefetchPaths, of objects: [ManagedObject]) throws {
    guard !objects.isEmpty, !paths.steps.isEmpty else { return }
    try loading {
      for step in paths.steps { try prefetch(step.next, of: try prefetched(step.name, of: objects)) }
    }
  }

  /// Loads a relationship of several objects, and the rows of its members. Objects whose entity does not have it are passed
  /// over.
  final func prefetch(_ name: String, of objects: [ManagedObject]) throws -> [ManagedObject] {
    try loading { try prefetched(name, of: objects) }
  }

  private final func prefetched(_ name: String, of objects: [ManagedObject]) throws -> [ManagedObject] {
    enterUnit()
    var members: [ManagedObject] = []
    for (entity, sources) in Dictionary(grouping: objects, by: \.entity) {
      guard let relationship = entity.relationship(named: name) else { continue }
      let ids =
        relationship.isToMany
        ? try prefetchMembers(of: relationship, owners: sources)
        : try prefetchTargets(of: relationship, sources: sources)
      // A member has one owner.
      let areUnique = relationship.isToMany && relationship.inverse?.isToMany == false
      members += try loaded(ids, isTarget: !relationship.isToMany, areUnique: areUnique)
    }
    return members
  }

  /// The objects of identifiers, loaded and kept. Those whose records are gone are left out, or stay faults.
  private final func loaded(
    _ ids: [ManagedObjectID], isTarget: Bool, areUnique: Bool
  ) throws -> [ManagedObject] {
    let ids = areUnique ? ids : ids.unique
    let known = storage.registry.objects(for: ids)
    let missing = zip(ids, known).compactMap { id, object in object?.isLoaded == true ? nil : id }
    let group = storage.groups.make(.members)
    var fresh: [ManagedObject] = []
    objects(for: try loadRows(missing), into: &fresh, in: group)
    storage.groups.enter(group)
    let result = fresh.isEmpty ? known.compactMap { $0 } : storage.registry.objects(for: ids).compactMap { $0 }
    isTarget ? keep(targets: result) : keep(result)
    withExtendedLifetime(fresh) {}
    return result
  }

  private final func prefetchTargets(
    of relationship: RelationshipDescription, sources: [ManagedObject]
  ) throws -> [ManagedObjectID] {
    try sources.compactMap { object in
      guard case .reference(let id) = try object.loadedValue(at: relationship.slot!) else { return nil }
      return id
    }
  }

  private final func prefetchMembers(
    of relationship: RelationshipDescription, owners: [ManagedObject]
  ) throws -> [ManagedObjectID] {
    // An ordered list belongs to a version of its owner's row.
    var loaded: [ManagedObject] = []
    if relationship.isOrdered { objects(for: try loadRows(owners.filter(\.isFault).map(\.id)), into: &loaded) }
    let members = try storedMembers(of: relationship, owners: owners.map(\.id), isKeeping: true)
    return try owners.flatMap { owner in
      owner.setMemberList(members[owner.id] ?? [], of: relationship)
      return try owner.memberIDs(of: relationship)
    }
  }
}

extension [ManagedObjectID] {
  /// The same, each once.
  fileprivate var unique: [ManagedObjectID] {
    var seen = Set<ManagedObjectID>(minimumCapacity: Swift.min(count, 1_024))
    return filter { seen.insert($0).inserted }
  }
}

/// Relationships to load with a fetch, each with those to load of its members: `tracks` and `tracks.artist` share a step.
struct PrefetchPaths {
  struct Step {
    let name: String
    let next: PrefetchPaths
  }

  private(set) var steps: [Step] = []
  /// How many relationships a path may have: loading takes stack for each.
  private static let greatestLength = 100

  /// - Throws: ``ErrorCode/unknownProperty`` and ``ErrorCode/invalidFetchRequest`` for a path that no entity has.
  init(_ paths: [String], of entity: EntityDescription) throws {
    let paths = paths.map { $0.split(separator: ".", omittingEmptySubsequences: false) }
    guard paths.allSatisfy({ $0.count <= Self.greatestLength }) else {
      throw CoherenceError(
        .invalidFetchRequest,
        "A path to prefetch has more than \(Self.greatestLength) relationships; fetch the records behind it by themselves."
      )
    }
    try self.init(paths[...], of: [entity])
  }

  private init(_ paths: ArraySlice<[Substring]>, of entities: [EntityDescription]) throws {
    var rests: [String: [[Substring]]] = [:]
    var names: [String] = []
    for path in paths {
      guard let first = path.first.map(String.init) else { continue }
      if rests[first] == nil { names.append(first) }
      rests[first, default: []].append(Array(path.dropFirst()))
    }
    for name in names {
      let relationships = try Self.relationships(named: name, of: entities)
      let destinations = Array(Set(relationships.map(\.destination)))
      steps.append(Step(name: name, next: try PrefetchPaths(rests[name, default: []][...], of: destinations)))
    }
  }

  private static func relationships(
    named name: String, of entities: [EntityDescription]
  ) throws -> [RelationshipDescription] {
    let concrete = entities.flatMap(\.concreteEntities)
    let properties = (entities + concrete).compactMap { try? $0.property(named: name) }
    guard !properties.isEmpty else {
      // The error lists the existing properties.
      for entity in entities { _ = try entity.property(named: name) }
      return []
    }
    let relationships = properties.compactMap { $0 as? RelationshipDescription }
    guard !relationships.isEmpty else {
      throw CoherenceError(
        .invalidFetchRequest, "'\(entities[0].name).\(name)' is no relationship: it needs no prefetch.")
    }
    return relationships
  }
}
