// Rows and members, from parents and stores.

extension ManagedObjectContext {
  /// Loads the row of a fault, with those of the batch that it was fetched in.
  final func fire(_ object: ManagedObject) throws {
    try loading {
      if let batch = storage.batches.removeValue(forKey: object.id) { try fire(batch) }
      if object.row == nil {
        guard let row = try loadRow(object.id) else {
          noteMissing([object.id])
          throw object.gone()
        }
        object.row = row
      }
      if !object.flags.isDisjoint(with: [.unavailable, .missing]) { becomeAvailable(object) }
    }
  }

  private final func becomeAvailable(_ object: ManagedObject) {
    object.flags.subtract([.unavailable, .missing])
    storage.missing.remove(object.id)
  }

  /// Loads the rows of a batch of faults in one read.
  private final func fire(_ batch: FaultBatch) throws {
    let ids = batch.ids
    batch.ids = []
    for id in ids { storage.batches[id] = nil }
    for row in try loadRows(ids) {
      if let object = storage.registry.object(for: row.id), object.pending == nil, object.row == nil {
        object.row = row
      }
    }
  }

  /// The state of a record below this context: its parents' if they have unsaved changes of it, else the store's.
  final func loadRow(_ id: ManagedObjectID) throws -> Row? {
    guard let inherited = inheritedRecord(of: id) else { return try committedRow(id) }
    if inherited.isDeleted { return nil }
    return inherited.mayBeBehind ? inherited.caughtUp(with: try committedRow(id)) : inherited.row
  }

  /// The row of a record as its store has it.
  final func committedRow(_ id: ManagedObjectID) throws -> Row? {
    guard !id.isTemporaryID else { return nil }
    let store = try coordinator().store(of: id)
    guard let row = try reader(for: store).row(id.key, of: id.entity) else { return nil }
    return shared(row)
  }

  /// The states of records below this context; missing ones are left out.
  final func loadRows(_ ids: [ManagedObjectID]) throws -> [Row] {
    var inherited: [InheritedRecord] = []
    var committed: [ManagedObjectID] = []
    for id in ids {
      guard let record = inheritedRecord(of: id) else {
        committed.append(id)
        continue
      }
      if !record.isDeleted { inherited.append(record) }
    }
    return try rows(of: inherited) + committedRows(committed)
  }

  /// The rows of records as their stores have them; missing ones are left out.
  final func committedRows(_ ids: [ManagedObjectID]) throws -> [Row] {
    var result: [Row] = []
    var wanted: [IDSpaceKey: [Int64]] = [:]
    for id in ids where !id.isTemporaryID { wanted[IDSpaceKey(space: id.space), default: []].append(id.key) }
    for (key, keys) in wanted {
      let store = try coordinator().store(of: ManagedObjectID(space: key.space, key: 0))
      var rows = try reader(for: store).rows(keys, of: key.space.root)
      share(&rows)
      result += rows
    }
    return result
  }

  /// Replaces rows by the shared ones of the process, except in a snapshot, which must not see newer ones.
  final func share(_ rows: inout [Row]) {
    guard lease.pins == 0, let space = rows.first?.id.space else { return }
    space.rows.share(&rows)
  }

  private final func shared(_ row: Row) -> Row {
    guard lease.pins == 0 else { return row }
    var rows = [row]
    row.id.space.rows.share(&rows)
    return rows[0]
  }

  /// Whether no parent has unsaved changes of a record.
  final func isUnknownBelow(_ id: ManagedObjectID) -> Bool { inheritedRecord(of: id) == nil }

  // MARK: Members

  /// The members of a to-many relationship below this context.
  final func storedMembers(
    of relationship: RelationshipDescription, owner: ManagedObject
  ) throws -> [ManagedObjectID] {
    try loading { try storedMembers(of: relationship, owners: [owner.id])[owner.id] ?? [] }
  }

  /// The members of a to-many relationship of several owners, below this context, with one read for each store.
  final func storedMembers(
    of relationship: RelationshipDescription, owners: [ManagedObjectID]
  ) throws -> [ManagedObjectID: [ManagedObjectID]] {
    let members = try committedMembers(of: relationship, owners: owners) { rows in
      // Faults that are there get the rows that came along.
      var unused: [ManagedObject] = []
      objects(for: rows.filter { storage.registry.object(for: $0.id)?.row == nil }, into: &unused)
    }
    return applyParents(to: members, of: relationship, owners: owners)
  }

  /// The members of a to-many relationship of several owners, as their stores have them.
  ///
  /// - Parameter note: Called with rows of members that were read on the way.
  final func committedMembers(
    of relationship: RelationshipDescription, owners: [ManagedObjectID], note: ([Row]) -> Void
  ) throws -> [ManagedObjectID: [ManagedObjectID]] {
    var result: [ManagedObjectID: [ManagedObjectID]] = [:]
    for (_, ids) in Dictionary(grouping: owners.filter { !$0.isTemporaryID }, by: \.storeIdentifier) {
      let store = try coordinator().store(of: ids[0])
      let found: [ManagedObjectID: [ManagedObjectID]] =
        switch relationship.storage {
        case .inverseColumn(let inverse, let positionSlot):
          try membersByColumn(inverse, positionSlot: positionSlot, owners: ids, in: store, note: note)
        case .links(let table, let isForward):
          try membersByLinks(table, isForward: isForward, owners: ids, in: store)
        case .column: [:]
        }
      result.merge(found) { $1 }
    }
    return result
  }

  private final func membersByColumn(
    _ inverse: RelationshipDescription, positionSlot: Int?, owners: [ManagedObjectID], in store: any PersistentStore,
    note: ([Row]) -> Void
  ) throws -> [ManagedObjectID: [ManagedObjectID]] {
    // Relationships do not cross stores: a store without the members' entity has no members.
    guard store.holds(inverse.entity) else { return [:] }
    let query = StoreQuery(
      entity: inverse.entity,
      predicate: .membership(.path(PropertyPath(names: [inverse.name])), in: owners.map(AttributeValue.reference)))
    let prepared = try query.predicate.map { try PreparedPredicate($0, for: inverse.entity) }
    let slot = inverse.slot!
    var members: [ManagedObjectID: [(Int64?, ManagedObjectID)]] = [:]
    try forEachRow(query, prepared: prepared, in: store) { rows in
      for row in rows {
        guard case .reference(let owner) = row[slot] else { continue }
        var position: Int64?
        if let positionSlot, case .int(let place) = row[positionSlot] { position = place }
        members[owner, default: []].append((position, row.id))
      }
      note(rows)
    }
    return members.mapValues { list in
      list.sorted { ($0.0 ?? -1, $0.1.key) < ($1.0 ?? -1, $1.1.key) }.map(\.1)
    }
  }

  private final func membersByLinks(
    _ table: LinkTable, isForward: Bool, owners: [ManagedObjectID], in store: any PersistentStore
  ) throws -> [ManagedObjectID: [ManagedObjectID]] {
    guard store.holds(table.sourceRoot), store.holds(table.targetRoot) else { return [:] }
    let links = try reader(for: store).links(table, of: owners.map(\.key), fromSource: isForward)
    let ownerSpace = store.spaces[isForward ? table.sourceRoot : table.targetRoot]
    let memberSpace = store.spaces[isForward ? table.targetRoot : table.sourceRoot]
    var members: [ManagedObjectID: [ManagedObjectID]] = [:]
    for link in links {
      let owner = ManagedObjectID(space: ownerSpace, key: isForward ? link.source : link.target)
      let member = ManagedObjectID(space: memberSpace, key: isForward ? link.target : link.source)
      members[owner, default: []].append(member)
    }
    return members
  }

  /// Puts what the parents changed on top, the farthest first.
  private final func applyParents(
    to members: [ManagedObjectID: [ManagedObjectID]], of relationship: RelationshipDescription,
    owners: [ManagedObjectID]
  ) -> [ManagedObjectID: [ManagedObjectID]] {
    var ancestors: [ManagedObjectContext] = []
    var ancestor = parent
    while let context = ancestor {
      ancestors.append(context)
      ancestor = context.parent
    }
    var result = members
    for context in ancestors.reversed() {
      for owner in owners {
        let changes = context.storage.withPending { context.storage.recordUnderLock(for: owner)?.members[relationship] }
        guard let changes, !changes.isEmpty else { continue }
        var ids = changes.applied(to: result[owner] ?? [])
        if !relationship.isOrdered { ids.sort(by: ManagedObjectID.precedes) }
        result[owner] = ids
      }
    }
    return result
  }

  /// Loads a relationship of several objects, and the rows of its members.
  @discardableResult
  final func prefetch(_ name: String, of objects: [ManagedObject]) throws -> [ManagedObject] {
    try loading { try prefetched(name, of: objects) }
  }

  private final func prefetched(_ name: String, of objects: [ManagedObject]) throws -> [ManagedObject] {
    var members: [ManagedObject] = []
    for (entity, group) in Dictionary(grouping: objects, by: \.entity) {
      guard let relationship = try entity.property(named: name) as? RelationshipDescription else {
        throw CoherenceError(.invalidFetchRequest, "'\(entity.name).\(name)' is no relationship: it needs no prefetch.")
      }
      let ids =
        relationship.isToMany
        ? try prefetchMembers(of: relationship, owners: group) : try prefetchTargets(of: relationship, sources: group)
      let missing = ids.filter { id in storage.registry.object(for: id).map { $0.isFault } != false }
      var loaded: [ManagedObject] = []
      self.objects(for: try loadRows(missing), into: &loaded)
      members += ids.compactMap { storage.registry.object(for: $0) }
      withExtendedLifetime(loaded) {}
    }
    return members
  }

  private final func prefetchTargets(
    of relationship: RelationshipDescription, sources: [ManagedObject]
  ) throws -> [ManagedObjectID] {
    try sources.compactMap { object in
      guard case .reference(let id) = try object.loadedValue(at: relationship.slot!) else { return nil }
      return id
    }
  }

  final func prefetchMembers(
    of relationship: RelationshipDescription, owners: [ManagedObject]
  ) throws -> [ManagedObjectID] {
    // An ordered list belongs to a version of its owner's row.
    var loaded: [ManagedObject] = []
    if relationship.isOrdered { objects(for: try loadRows(owners.filter(\.isFault).map(\.id)), into: &loaded) }
    let members = try storedMembers(of: relationship, owners: owners.map(\.id))
    return try owners.flatMap { owner in
      owner.setMemberList(members[owner.id] ?? [], of: relationship)
      return try owner.memberIDs(of: relationship)
    }
  }
}

extension PersistentStore {
  fileprivate func holds(_ entity: EntityDescription) -> Bool { environment.entities.contains { $0 === entity } }
}

/// A space as a key of a dictionary.
struct IDSpaceKey: Hashable {
  let space: IDSpace
  static func == (left: IDSpaceKey, right: IDSpaceKey) -> Bool { left.space === right.space }
  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(space)) }
}
