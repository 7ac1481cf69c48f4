/// The roots of the entity hierarchies in which a context or a parent has unsaved records.
struct UnsavedHierarchies {
  private var roots: Set<ObjectIdentifier> = []

  /// Makes an empty set, for a request that excludes unsaved changes.
  init() {}

  init(in context: ManagedObjectContext) {
    var ancestor: ManagedObjectContext? = context
    while let current = ancestor {
      for root in current.storage.changedRoots { roots.insert(ObjectIdentifier(root)) }
      ancestor = current.parent(readBy: context)
    }
  }

  var isEmpty: Bool { roots.isEmpty }

  func contains(_ root: EntityDescription) -> Bool { roots.contains(ObjectIdentifier(root)) }

  /// Whether a predicate or an order reads records of these hierarchies beyond the fetched record itself.
  func areRead(by predicate: PreparedPredicate?, sortKeys: [SortKey], of entity: EntityDescription) -> Bool {
    guard !roots.isEmpty else { return false }
    if let dependencies = predicate?.dependencies {
      if dependencies.entities.contains(where: { contains($0.root) }) { return true }
      if dependencies.relationships.contains(where: { isRead($0, of: entity.root) }) { return true }
    }
    return sortKeys.contains { key in
      (try? ResolvedPath(key.path, from: entity)).map(areRead(along:)) ?? false
    }
  }

  /// Whether a relationship that a predicate names leads to records of these hierarchies.
  private func isRead(_ relationship: RelationshipDescription, of root: EntityDescription) -> Bool {
    // A reference is a value of the fetched record. A predicate that follows the reference depends on the hierarchy of
    // its target too.
    if relationship.slot != nil, relationship.entity.root === root, relationship.destination.root !== root {
      return false
    }
    return contains(relationship.entity.root) || contains(relationship.destination.root)
  }

  /// Whether a path leads to records of these hierarchies beyond its first record.
  func areRead(along path: ResolvedPath) -> Bool {
    if path.steps.contains(where: { contains($0.destination.root) }) { return true }
    switch path.target {
    case .attribute, .toOne, .identity: return false
    case .toMany(let relationship): return contains(relationship.entity.root) || contains(relationship.destination.root)
    case .aggregate(let aggregate):
      let relationship = aggregate.relationship
      return contains(relationship.entity.root) || contains(relationship.destination.root)
        || aggregate.operand.map(areRead(along:)) ?? false
    }
  }
}
