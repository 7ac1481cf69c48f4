// The saved records about which unsaved changes of other records decide.

extension ManagedObjectContext {
  /// The greatest number of unsaved related records whose dependent records are looked up.
  private static let relatedLimit = 200

  /// Returns a plan that names the saved records which depend on unsaved changes of other records, if they are few and
  /// known. The context evaluates them as it evaluates unsaved records, and the stores decide about all others. Otherwise
  /// returns the given plan, by which the context evaluates every record.
  final func narrowed(_ plan: FetchPlan) throws -> FetchPlan {
    guard plan.dependsOnUnsaved, let records = try dependentRecords(of: plan) else { return plan }
    return plan.depending(onlyFor: records)
  }

  /// The present states of the saved records that depend on unsaved changes of other records; `nil` if they are unknown
  /// or too many.
  private final func dependentRecords(of plan: FetchPlan) throws -> [ManagedObjectID: RecordState]? {
    let entity = plan.query.entity
    let dependencies = try ResultDependencies(plan.predicate?.predicate, plan.query.sortKeys, of: entity)
    guard let changes = relatedChanges(of: dependencies.roots) else { return nil }
    var dependents = DependentRecords(dependencies)
    for change in changes where !dependents.add(change) { return nil }
    // Relationships stay within a store. The store of other changed records may be detached.
    let stores = Set(plan.stores.map(\.identifier))
    func isRead(_ id: ManagedObjectID) -> Bool { id.storeIdentifier.map(stores.contains) ?? false }
    // Another writer may have moved a member to another owner, which the store then evaluates with the saved values.
    for row in try committedRows(dependents.members.filter(isRead)) { dependents.add(ownersOf: row) }
    let owners = dependents.owners.filter(isRead)
    guard owners.count <= FetchExecution.greatestExclusion else { return nil }
    var rows = try committedRows(Array(owners))
    for (index, changed) in dependents.targets {
      let targets = changed.filter(isRead)
      guard !targets.isEmpty else { continue }
      let steps = dependencies.paths[index].steps
      // A store does not know the unsaved references of records in the middle of a path.
      guard !steps.dropFirst().contains(where: { hasUnsavedRecords(of: $0.entity.root) }) else { return nil }
      rows += try self.rows(of: plan, withPath: steps, to: targets)
    }
    guard rows.count <= FetchExecution.greatestExclusion else { return nil }
    return Dictionary(
      rows.lazy.filter { plan.includes($0.entity) }.map { ($0.id, RecordState($0)) },
      uniquingKeysWith: { first, _ in first })
  }

  /// The rows whose path of to-one relationships leads to a target. Beyond ``FetchExecution/greatestExclusion``, some of
  /// them.
  private final func rows(
    of plan: FetchPlan, withPath steps: [RelationshipDescription], to targets: Set<ManagedObjectID>
  ) throws -> [Row] {
    let (entity, path) = (plan.query.entity, PropertyPath(names: steps.map(\.name)))
    let prepared = try PreparedPredicate(
      .membership(.path(path), in: targets.map(AttributeValue.reference)), for: entity)
    var query = StoreQuery(
      entity: entity, includesSubentities: plan.query.includesSubentities, predicate: prepared.predicate)
    query.limit = FetchExecution.greatestExclusion + 1
    var found: [Row] = []
    for store in plan.stores { try forEachRow(query, prepared: prepared, in: store) { found += $0 } }
    return found
  }

  private final func hasUnsavedRecords(of root: EntityDescription) -> Bool {
    UnsavedHierarchies(in: self).contains(root)
  }

  /// The unsaved changes of this context and its parents in some hierarchies; `nil` for more than the limit.
  private final func relatedChanges(of roots: Set<ObjectIdentifier>) -> [RelatedChange]? {
    var changes: [RelatedChange] = []
    var context: ManagedObjectContext? = self
    while let current = context {
      let storage = current.storage
      let isComplete = storage.withPending {
        for record in storage.records where roots.contains(ObjectIdentifier(record.entity.root)) && !record.isUnchanged
        {
          if changes.count == Self.relatedLimit { return false }
          changes.append(RelatedChange(record))
        }
        return true
      }
      guard isComplete else { return nil }
      context = current.parent(readBy: self)
    }
    return changes
  }
}

/// An unsaved change of a record, which may decide about other records.
private struct RelatedChange {
  let id: ManagedObjectID
  let entity: EntityDescription
  let kind: PendingRecord.Kind
  let changed: SlotSet
  /// The state on which the change is based, and the present state.
  let rows: [Row]
  let members: [RelationshipDescription: MemberChanges]

  init(_ record: PendingRecord) {
    id = record.id
    entity = record.entity
    kind = record.kind
    changed = record.changed
    rows = [record.base, record.snapshot].compactMap(\.self)
    members = record.members.filter { !$0.value.isEmpty }
  }

  /// Whether the change may decide about records that read some slots.
  ///
  /// - Parameter orMembership: Whether a new record may be a member of a saved record.
  func mayChange(_ slots: SlotSet, orMembership: Bool = false) -> Bool {
    switch kind {
    case .inserted: orMembership
    case .deleted: true
    case .updated: changed.contains { slots.contains($0) }
    }
  }
}

/// The saved records about which unsaved changes of other records decide, as far as the changes name them.
private struct DependentRecords {
  let dependencies: ResultDependencies
  /// The owners of changed members.
  private(set) var owners: Set<ManagedObjectID> = []
  /// The changed saved members.
  private(set) var members: [ManagedObjectID] = []
  /// The changed records at the ends of paths, by the index of the path.
  private(set) var targets: [Int: Set<ManagedObjectID>] = [:]

  init(_ dependencies: ResultDependencies) { self.dependencies = dependencies }

  /// Adds the records that depend on a change.
  ///
  /// - Returns: Whether the dependent records can be known.
  mutating func add(_ change: RelatedChange) -> Bool {
    let root = change.entity.root
    let isUnknown = dependencies.rerunConditions.contains { condition in
      condition.root === root && change.mayChange(condition.slots, orMembership: condition.countsInserts)
    }
    guard !isUnknown, add(links: change) else { return false }
    let isMember = dependencies.members.contains { members in
      members.root === root && change.mayChange(members.slots, orMembership: true)
    }
    if isMember {
      for row in change.rows { add(ownersOf: row) }
      if !change.id.isTemporaryID { members.append(change.id) }
    }
    // A new record is a target of unsaved records alone.
    for (index, path) in dependencies.paths.enumerated()
    where path.root === root && change.mayChange(path.slots) && !change.id.isTemporaryID {
      targets[index, default: []].insert(change.id)
    }
    return true
  }

  /// Adds the owners of changed links that are recorded at the member.
  private mutating func add(links change: RelatedChange) -> Bool {
    for (relationship, changes) in change.members {
      let sides = [relationship, relationship.inverse].compactMap(\.self)
      guard dependencies.farLinks.isDisjoint(with: sides) else { return false }
      if let inverse = relationship.inverse, dependencies.links.contains(inverse) {
        owners.formUnion(changes.added)
        owners.formUnion(changes.removed)
      }
    }
    return true
  }

  /// Adds the owners to which a member's row refers.
  mutating func add(ownersOf row: Row) {
    for members in dependencies.members where members.root === row.entity.root && members.ownerSlot < row.count {
      if case .reference(let owner) = row[members.ownerSlot], !owner.isTemporaryID { owners.insert(owner) }
    }
  }
}
