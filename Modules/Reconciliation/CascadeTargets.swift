package import CoherenceCore

/// The records that the rule ``DeleteRule/cascade`` would delete together with superfluous records. Keeps those of them
/// that have to stay: the records of the input, which may have no value for the relationship that leads to them, the
/// records to which links of the input lead, and protected records.
///
/// Used once by each save or merge, on the thread of its context.
package struct CascadeTargets {
  private let rows: StoredRows
  private let inputByKey: InputIndex
  private let linkedIDs: Set<ManagedObjectID>
  /// The roots of the hierarchies of the linked records.
  private let linkedRoots: Set<EntityDescription>
  private let protection: (any CascadeProtection)?

  /// - Parameters:
  ///   - rows: The stored rows of the entity of the input.
  ///   - inputByKey: The input records by their keys.
  ///   - linkedIDs: The stored records to which links of the input lead.
  ///   - protection: The records to keep beside those of the input.
  package init(
    _ rows: StoredRows, inputByKey: InputIndex, linkedIDs: Set<ManagedObjectID> = [],
    protection: (any CascadeProtection)?
  ) {
    self.rows = rows
    self.inputByKey = inputByKey
    self.linkedIDs = linkedIDs
    linkedRoots = Set(linkedIDs.lazy.map(\.entity.root))
    self.protection = protection
  }

  /// Takes the kept records out of the relationships with the rule ``DeleteRule/cascade`` of records that will be
  /// deleted, also by the rule itself. The owner of a record that cannot leave the relationship stays, and so does each
  /// record that a staying record requires. Called before the deletions. A merge calls this after its updates, which may
  /// give records of the input other owners. A save of models calls this before the updates: a record whose model gives
  /// it another owner keeps a former owner that it cannot leave.
  ///
  /// The cost is one read for each relationship of a level that may lead to a kept record, and one read of staying
  /// records that require others; nothing for a model without such relationships. If a kept record may require records
  /// behind other relationships, the levels are read once more with these.
  ///
  /// - Returns: The superfluous records that stay. The caller deletes the other superfluous records.
  package func release(from superfluous: [ManagedObject]) throws -> Set<ManagedObjectID> {
    guard !superfluous.isEmpty else { return [] }
    var graph = CascadeGraph(Set(superfluous.map(\.objectID)))
    try read(&graph, from: superfluous)
    guard !graph.cascades.isEmpty else { return [] }
    let further = furtherRoots(requiredIn: graph, from: superfluous)
    if !further.isEmpty {
      graph = CascadeGraph(graph.roots)
      try read(&graph, from: superfluous, to: further)
    }
    let deleted = try keepRequired(&graph)
    let staying = graph.roots.subtracting(deleted)
    let ids = deleted.filter { !graph.cascadesToKept(from: $0).isEmpty }
    let owners = try ids.isEmpty ? [:] : rows.context.existingObjects(with: ids)
    let members = try loadMembers(of: owners, graph)
    try withExtendedLifetime(members) {
      for (id, owner) in owners {
        for cascade in graph.cascadesToKept(from: id) { try release(graph.kept, from: owner, cascade.relationship) }
      }
    }
    protection?.note(kept: graph.kept, deleted: deleted, owners: staying)
    return staying
  }

  /// Keeps the owners that kept records cannot leave, and the records that staying records require by other
  /// relationships. The other targets of a kept owner stay too.
  ///
  /// - Returns: The records that will be deleted.
  private func keepRequired(_ graph: inout CascadeGraph) throws -> Set<ManagedObjectID> {
    if graph.kept.isEmpty { return graph.keepOwners() }
    let records = graph.records
    var checked: Set<ManagedObjectID> = []
    while true {
      var deleted = graph.keepOwners()
      var hasGrown = false
      var unchecked = records.subtracting(deleted).subtracting(checked)
      while !unchecked.isEmpty {
        checked.formUnion(unchecked)
        unchecked = try requiredIDs(of: unchecked).intersection(deleted)
        graph.keep(unchecked)
        deleted.subtract(unchecked)
        if !unchecked.isEmpty { hasGrown = true }
      }
      if !hasGrown { return deleted }
    }
  }

  /// The roots of the hierarchies of records that staying records may require and that cascades may reach, without those
  /// to which the graph leads anyway; empty for a graph without a kept record.
  private func furtherRoots(requiredIn graph: CascadeGraph, from superfluous: [ManagedObject]) -> Set<EntityDescription>
  {
    guard !graph.kept.isEmpty else { return [] }
    var roots: Set<EntityDescription> = []
    var unvisited = Set(graph.records.lazy.map(\.entity)).flatMap(\.concreteEntities)
    var visited = Set(unvisited)
    while let entity = unvisited.popLast() {
      for relationship in entity.relationships where relationship.keepsTarget {
        let destination = relationship.destination
        if !isCovered(destination) { roots.insert(destination.root) }
        unvisited += destination.concreteEntities.filter { visited.insert($0).inserted }
      }
    }
    let entities = Set(superfluous.lazy.map(\.entity))
    return roots.filter { root in entities.contains { $0.reachesByCascades { $0.root === root } } }
  }

  /// The targets without which staying records cannot be saved.
  ///
  /// - Parameter ids: The staying records.
  private func requiredIDs(of ids: Set<ManagedObjectID>) throws -> Set<ManagedObjectID> {
    let ids = ids.filter { $0.entity.mayRequireRecords }
    guard !ids.isEmpty else { return [] }
    var required: Set<ManagedObjectID> = []
    for row in try rows.context.rows(of: Array(ids)).values {
      for relationship in row.entity.relationships where relationship.keepsTarget {
        if let slot = relationship.slot, case .reference(let id) = row[slot] { required.insert(id) }
      }
    }
    return required
  }

  // MARK: Reading

  /// Reads the cascades of superfluous records level by level. Records that stay end their branch.
  ///
  /// - Parameter further: The roots of the hierarchies to which the graph leads beside those of staying records.
  private func read(
    _ graph: inout CascadeGraph, from superfluous: [ManagedObject], to further: Set<EntityDescription> = []
  ) throws {
    var known: [ManagedObjectID: Row] = [:]
    var visited = graph.roots
    var level = Dictionary(grouping: superfluous, by: \.entity).mapValues { $0.map(\.objectID) }
    while !level.isEmpty {
      let branches = try branches(from: level, to: further)
      // `subtracting` would visit all records of the former levels in each level.
      let found = Set(branches.flatMap { branch in branch.targets.filter { !visited.contains($0) } })
      known.merge(try rows.context.rows(of: Array(found))) { $1 }
      var reached: Set<ManagedObjectID> = []
      for branch in branches {
        let targets = branch.targets.filter { !hasLeft(known[$0], branch.owner, branch.relationship) }
        guard !targets.isEmpty else { continue }
        reached.formUnion(targets)
        graph.cascades[branch.owner, default: []].append(
          CascadeGraph.Cascade(relationship: branch.relationship, targets: targets))
      }
      reached.formIntersection(found)
      visited.formUnion(reached)
      let reachedRows = reached.compactMap { known[$0] }
      let kept = try keptIDs(among: reachedRows)
      graph.keep(kept)
      level = Dictionary(grouping: reachedRows.filter { !kept.contains($0.id) }, by: \.entity)
        .mapValues { $0.map(\.id) }
    }
  }

  /// One relationship of one record with its targets, also with targets that unsaved changes have given to other owners.
  private struct Branch {
    let owner: ManagedObjectID
    let relationship: RelationshipDescription
    let targets: [ManagedObjectID]
  }

  /// The branches of records that may lead to a staying record, or to a record of a hierarchy.
  ///
  /// - Parameters:
  ///   - owners: The records by entity.
  ///   - further: The roots of the hierarchies.
  private func branches(
    from owners: [EntityDescription: [ManagedObjectID]], to further: Set<EntityDescription>
  ) throws -> [Branch] {
    var branches: [Branch] = []
    for (entity, ids) in owners {
      for relationship in entity.relationships {
        guard relationship.deleteRule == .cascade,
          relationship.destination.reachesByCascades({ isCovered($0) || further.contains($0.root) })
        else { continue }
        for (owner, destinations) in try targets(of: relationship, from: ids) {
          branches.append(Branch(owner: owner, relationship: relationship, targets: destinations))
        }
      }
    }
    return branches
  }

  /// Whether an unsaved change has given a target another owner, although the store has the target as a member: the
  /// context reads the members of an owner without an object from the store.
  ///
  /// - Parameter target: The row of the target, with the unsaved changes; `nil` for a target without a row.
  private func hasLeft(_ target: Row?, _ owner: ManagedObjectID, _ relationship: RelationshipDescription) -> Bool {
    guard let target, let slot = relationship.inverse?.slot else { return false }
    return target[slot] != .reference(owner)
  }

  /// Whether records of an entity may be of the input, linked or protected.
  private func isCovered(_ entity: EntityDescription) -> Bool {
    entity.root === rows.entity.root || linkedRoots.contains(entity.root) || protection?.covers(entity) == true
  }

  /// The targets of a relationship, with the unsaved changes of the context, by owner.
  private func targets(
    of relationship: RelationshipDescription, from owners: [ManagedObjectID]
  ) throws -> [ManagedObjectID: [ManagedObjectID]] {
    guard let slot = relationship.slot else { return try rows.context.memberIDs(of: relationship, owners: owners) }
    return try rows.context.rows(of: owners).compactMapValues { row -> [ManagedObjectID]? in
      if case .reference(let id) = row[slot] { [id] } else { nil }
    }
  }

  /// The records of the input, the linked and the protected records.
  private func keptIDs(among rows: [Row]) throws -> Set<ManagedObjectID> {
    var kept: Set<ManagedObjectID> = []
    var others: [Row] = []
    for row in rows {
      if try linkedIDs.contains(row.id) || isOfInput(row) { kept.insert(row.id) } else { others.append(row) }
    }
    if let protection, !others.isEmpty { kept.formUnion(try protection.protectedIDs(among: others)) }
    return kept
  }

  /// Whether a record of the input has the key of a row.
  private func isOfInput(_ row: Row) throws -> Bool {
    guard row.entity.isKind(of: rows.entity) else { return false }
    let key = rows.keyAttributes.map { row[$0.slot] }
    return try !key.isIncompleteKey && inputByKey.index(of: key) != nil
  }

  // MARK: Releasing

  /// Loads the members of all owners together, so that the release does not read the members of each owner.
  private func loadMembers(
    of owners: [ManagedObjectID: ManagedObject], _ graph: CascadeGraph
  ) throws -> [ManagedObject] {
    var ownersByName: [String: [ManagedObject]] = [:]
    for (id, owner) in owners where !id.isTemporaryID {
      for cascade in graph.cascadesToKept(from: id) where cascade.relationship.isToMany {
        ownersByName[cascade.relationship.name, default: []].append(owner)
      }
    }
    return try ownersByName.flatMap { try rows.context.loadMembers(of: $0.key, $0.value) }
  }

  /// Takes the kept records out of one relationship of an owner.
  private func release(
    _ kept: Set<ManagedObjectID>, from owner: ManagedObject, _ relationship: RelationshipDescription
  ) throws {
    guard relationship.isToMany else { return try owner.setObject(nil, for: relationship.name) }
    let others = try owner.objects(for: relationship.name).filter { !kept.contains($0.objectID) }
    try owner.setObjects(others, for: relationship.name)
  }
}

extension RelationshipDescription {
  /// Whether a record that stays needs its target to stay too, because the deletion of the target would fail: the
  /// delete rule at the target forbids the deletion, or the record would lose a reference that is not optional.
  fileprivate var keepsTarget: Bool {
    guard !isToMany, let inverse else { return false }
    switch inverse.deleteRule {
    case .deny: return true
    case .nullify, .cascade: return !isOptional
    case .noAction: return false
    }
  }
}

extension EntityDescription {
  /// Whether a record of the entity may require other records to stay.
  fileprivate var mayRequireRecords: Bool {
    concreteEntities.contains { $0.relationships.contains(where: \.keepsTarget) }
  }
}
