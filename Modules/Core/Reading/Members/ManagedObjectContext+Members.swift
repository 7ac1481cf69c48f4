// Members of to-many relationships, read for many owners together.

extension ManagedObjectContext {
  /// The greatest number of rows that a read for neighbours may return.
  static let rowBudget = 16_384

  /// Returns the members of a to-many relationship below this context: with the parents' changes and without its own.
  /// The members of the owner's neighbours are read with them.
  final func storedMembers(
    of relationship: RelationshipDescription, owner: ManagedObject
  ) throws -> [ManagedObjectID] {
    try loading {
      enterUnit()
      if let list = storage.retainedReads.takeList(of: relationship, owner: owner.recordID),
        !relationship.isOrdered || list.version == owner.rowVersion
      {
        return applyParents(to: [owner.recordID: list.ids], of: relationship, owners: [owner.recordID])[owner.recordID]
          ?? []
      }
      let members = try membersAlong(with: owner, of: relationship)
      return applyParents(to: members, of: relationship, owners: [owner.recordID])[owner.recordID] ?? []
    }
  }

  /// Returns the members of a to-many relationship of several owners, below this context: with the parents' changes and
  /// without its own.
  ///
  /// - Parameter isKeeping: Whether the members become objects, which are retained for the unit of work.
  final func storedMembers(
    of relationship: RelationshipDescription, owners: [ManagedObjectID], isKeeping: Bool
  ) throws -> [ManagedObjectID: [ManagedObjectID]] {
    let members =
      isKeeping
      ? try storage.retainedReads.unbounded {
        try membersWithObjects(of: relationship, owners: owners, limit: nil) ?? [:]
      }
      : try committedMembers(of: relationship, owners: owners) { _ in }
    return applyParents(to: members, of: relationship, owners: owners)
  }

  /// Returns the members of a to-many relationship of several owners, below this context. Makes no objects.
  ///
  /// - Parameter rows: Receives the rows of members, if the read returns rows.
  final func storedMembers(
    of relationship: RelationshipDescription, owners: [ManagedObjectID], rows: inout [ManagedObjectID: Row]
  ) throws -> [ManagedObjectID: [ManagedObjectID]] {
    let members = try committedMembers(of: relationship, owners: owners) { read in
      rows.reserveCapacity(rows.count + read.count)
      for row in try belowRows(read) { rows[row.id] = row }
    }
    return applyParents(to: members, of: relationship, owners: owners)
  }

  // MARK: Neighbours

  /// Reads the members of an owner and of its neighbours, and retains the neighbours' lists.
  private final func membersAlong(
    with owner: ManagedObject, of relationship: RelationshipDescription
  ) throws -> [ManagedObjectID: [ManagedObjectID]] {
    let group = storage.groups.group(of: owner)
    let neighbouringOwners =
      group.map { neighbours(of: owner, in: $0, for: relationship, budget: Self.rowBudget) } ?? []
    if !neighbouringOwners.isEmpty {
      let owners = [owner.recordID] + neighbouringOwners.map(\.recordID)
      if let members = try membersWithObjects(of: relationship, owners: owners, limit: Self.rowBudget) {
        group?.note(members: members.values.reduce(0) { $0 + $1.count }, of: owners.count, for: relationship)
        for neighbour in neighbouringOwners {
          let list = ReadAheadList(ids: members[neighbour.recordID] ?? [], version: neighbour.rowVersion)
          storage.retainedReads.retain(list, of: relationship, owner: neighbour.recordID)
        }
        scheduleUnitEnd()
        return members
      }
    }
    noteFault(of: relationship, in: owner.entity)
    // Without neighbours, or with too many members for one read, only the members of the owner are read, without a
    // limit.
    let members = try membersWithObjects(of: relationship, owners: [owner.recordID], limit: nil) ?? [:]
    group?.note(members: members[owner.recordID]?.count ?? 0, of: 1, for: relationship)
    return members
  }

  /// The objects of an owner's group whose members are not loaded yet.
  ///
  /// - Parameter budget: The greatest number of members that the read may return.
  final func neighbours(
    of owner: ManagedObject, in group: FetchGroup, for relationship: RelationshipDescription, budget: Int
  ) -> [ManagedObject] {
    let generation = storage.generation(of: relationship)
    let window = group.window(at: Int(owner.groupIndex), for: relationship, unit: unitOfLists, budget: budget)
    let neighbours = storage.registry.objects(for: window).compactMap { object -> ManagedObject? in
      guard let object, object !== owner, !object.recordID.isTemporaryID, object.has(relationship),
        object.collections?[relationship].map({ $0.generation == generation }) != true,
        !storage.retainedReads.hasList(of: relationship, owner: object.recordID)
      else { return nil }
      return object
    }
    return readable(neighbours) { $0.recordID }
  }

  /// Returns the members of owners as their stores have them. If the read returns rows of the members, their objects
  /// are made and retained.
  ///
  /// - Parameter limit: The greatest number of members to read; `nil` for any number.
  /// - Returns: `nil` for more members than the limit.
  private final func membersWithObjects(
    of relationship: RelationshipDescription, owners: [ManagedObjectID], limit: Int?
  ) throws -> [ManagedObjectID: [ManagedObjectID]]? {
    let group = storage.groups.make(.members)
    var objects: [ManagedObject] = []
    let members = try committedMembers(of: relationship, owners: owners, limit: limit) { rows in
      guard objects.count < RetainedReads.limit || storage.retainedReads.isUnbounded else { return }
      self.objects(for: try belowRows(rows), into: &objects, .keepsRows, in: group)
    }
    guard let members else { return nil }
    storage.groups.enter(group)
    retain(objects)
    return members
  }

  /// Returns stored rows with the unsaved changes of the parents, without the rows of records deleted by a parent.
  final func belowRows(_ rows: [Row]) throws -> [Row] {
    guard readParent != nil else { return rows }
    return rows.compactMap { row in
      guard let inherited = inheritedRecord(of: row.id) else { return row }
      if inherited.isDeleted { return nil }
      return inherited.mayBeBehind ? inherited.caughtUp(with: row) : inherited.row
    }
  }

  /// Returns rows that a fetch without unsaved changes has read, with the unsaved changes of the parents, which the
  /// objects of the rows show. The row of a record deleted by a parent stays as it is.
  final func shownRows(_ rows: [Row]) -> [Row] {
    guard readParent != nil, let root = rows.first?.entity.root, UnsavedHierarchies(in: self).contains(root) else {
      return rows
    }
    return rows.map { row in
      guard let inherited = inheritedRecord(of: row.id), !inherited.isDeleted else { return row }
      return inherited.mayBeBehind ? inherited.caughtUp(with: row) : inherited.row
    }
  }

  // MARK: Present members

  /// Returns the members of a to-many relationship, loaded together, without missing records.
  final func presentMembers(
    of relationship: RelationshipDescription, owner: ManagedObject
  ) throws -> [ManagedObject] {
    try loading {
      enterUnit()
      let ids = try storage.retainedReads.unbounded { try owner.memberIDs(of: relationship) }
      let registered = storage.registry.objects(for: ids)
      if let objects = registered.allLoaded { return objects }
      let unloaded = zip(ids, registered).compactMap { id, object in object?.isLoaded == true ? nil : id }
      let loaded = try loadMembers(unloaded, of: relationship)
      let members = storage.registry.objects(for: ids)
      withExtendedLifetime(loaded) {}
      let missing = zip(ids, members).compactMap { id, object in object?.isLoaded == true ? nil : id }
      if !missing.isEmpty { noteMissing(missing) }
      return members.compactMap { $0?.isLoaded == true ? $0 : nil }
    }
  }

  /// Loads members, together with the members of retained lists: a read of links has returned no rows for any of them.
  private final func loadMembers(
    _ ids: [ManagedObjectID], of relationship: RelationshipDescription
  ) throws -> [ManagedObject] {
    var wanted = ids
    var seen = Set(ids)
    for list in storage.retainedReads.waitingLists(of: relationship) where wanted.count < Self.rowBudget {
      for (id, object) in zip(list.ids, storage.registry.objects(for: list.ids))
      where object?.isLoaded != true && seen.insert(id).inserted {
        wanted.append(id)
      }
    }
    let group = storage.groups.make(.members)
    var loaded: [ManagedObject] = []
    objects(for: try loadRows(wanted), into: &loaded, in: group)
    storage.groups.enter(group)
    retain(loaded)
    return loaded
  }

  // MARK: In stores

  /// Returns the members of a to-many relationship of several owners, as their stores have them.
  ///
  /// - Parameter note: Receives the rows of members, if the read returns rows.
  final func committedMembers(
    of relationship: RelationshipDescription, owners: [ManagedObjectID], note: ([Row]) throws -> Void
  ) throws -> [ManagedObjectID: [ManagedObjectID]] {
    try committedMembers(of: relationship, owners: owners, limit: nil, note: note) ?? [:]
  }

  /// As ``committedMembers(of:owners:note:)``, with a limit.
  ///
  /// - Parameter limit: The greatest number of rows of members to read. Links have no limit.
  /// - Returns: `nil` for more rows than the limit.
  private final func committedMembers(
    of relationship: RelationshipDescription, owners: [ManagedObjectID], limit: Int?, note: ([Row]) throws -> Void
  ) throws -> [ManagedObjectID: [ManagedObjectID]]? {
    var result: [ManagedObjectID: [ManagedObjectID]] = [:]
    for (_, ids) in Dictionary(grouping: owners.filter { !$0.isTemporaryID }, by: \.storeIdentifier) {
      let store = try coordinator().store(of: ids[0])
      switch relationship.storage {
      case .inverseColumn(let inverse, let positionSlot):
        let column = MemberColumn(entity: inverse.entity, inverse: inverse, positionSlot: positionSlot)
        var gathered = GatheredMembers()
        for start in stride(from: 0, to: ids.count, by: Self.ownersOfOneRead) {
          let batch = ids[start..<min(start + Self.ownersOfOneRead, ids.count)]
          guard try gather(&gathered, column, owners: batch, in: store, limit: limit, note: note) else { return nil }
        }
        gathered.move(into: &result)
      case .links(let table, let isForward):
        result.merge(try membersByLinks(table, isForward: isForward, owners: ids, in: store)) { $1 }
      // A to-one relationship has no members.
      case .column: break
      }
    }
    return result
  }

  /// The greatest number of owners in one query, because engines limit the parameters of a statement.
  static let ownersOfOneRead = 8_192

  /// Gathers members by the column that refers to their owner.
  ///
  /// - Returns: `false` for more members than the limit.
  private final func gather(
    _ gathered: inout GatheredMembers, _ column: MemberColumn, owners: ArraySlice<ManagedObjectID>,
    in store: any PersistentStore, limit: Int?, note: ([Row]) throws -> Void
  ) throws -> Bool {
    // Relationships stay within a store, so that a store without the members' entity has no members.
    guard store.holds(column.entity) else { return true }
    var query = StoreQuery(
      entity: column.entity,
      predicate: .membership(
        .path(PropertyPath(names: [column.inverse.name])), in: owners.map(AttributeValue.reference)))
    query.limit = limit.map { $0 + 1 - gathered.count }
    // The lists are sorted one by one. Most rows come in the order of the index of their owners, and a sort of the rows
    // of all owners would take as long as their read.
    query.isUnordered = true
    let prepared = try query.predicate.map { try PreparedPredicate($0, for: column.entity) }
    try forEachRow(query, prepared: prepared, in: store) { rows in
      gathered.add(rows, column)
      if limit.map({ gathered.count <= $0 }) != false { try note(rows) }
    }
    return limit.map { gathered.count <= $0 } != false
  }

  /// Reads members by the links of a many-to-many relationship, or of a relationship without an inverse.
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

  /// Applies the parents' unsaved changes to lists of members, the farthest parent's first.
  private final func applyParents(
    to members: [ManagedObjectID: [ManagedObjectID]], of relationship: RelationshipDescription,
    owners: [ManagedObjectID]
  ) -> [ManagedObjectID: [ManagedObjectID]] {
    var ancestors: [ManagedObjectContext] = []
    var ancestor = readParent
    while let context = ancestor {
      ancestors.append(context)
      ancestor = context.parent
    }
    var result = members
    // The members that parents have added, by owner. A nearer context may have moved such a record to another owner.
    var added: [ManagedObjectID: [ManagedObjectID]] = [:]
    for context in ancestors.reversed() {
      for (owner, ids) in added {
        let moved = context.storage.withPending { context.storage.moved(ids, from: owner, of: relationship) }
        if !moved.isEmpty { result[owner]?.removeAll(where: moved.contains) }
      }
      for owner in owners {
        let changes = context.storage.withPending { context.storage.recordUnderLock(for: owner)?.members[relationship] }
        guard let changes, !changes.isEmpty else { continue }
        var ids = changes.applied(to: result[owner] ?? [])
        if !relationship.isOrdered { ids.sort(by: ManagedObjectID.precedes) }
        result[owner] = ids
        added[owner, default: []] += changes.added
      }
      // The delete rules that remove a deleted member from the list may not be applied yet, and another writer may have
      // moved a record that the parent has moved to another owner.
      let storage = context.storage
      storage.withPending {
        guard storage.unsaved.hasDeletes || !storage.unsaved.movedRecords.isEmpty else { return }
        for (owner, ids) in result { result[owner] = storage.withoutNonmembers(ids, of: relationship, owner: owner) }
      }
    }
    // The own moves apply when the list is read, so that the list stays right if they are reverted.
    if !added.isEmpty {
      storage.withPending {
        for (owner, ids) in added {
          storage.unsaved.movedRecords.formUnion(storage.moved(ids, from: owner, of: relationship))
        }
      }
    }
    return result
  }
}

extension PersistentStore {
  /// Whether the store has the records of an entity.
  func holds(_ entity: EntityDescription) -> Bool { environment.entities.contains { $0 === entity } }
}

extension ManagedObjectContext {
  /// Whether an attached store has the records of an entity. A fetch of any other entity fails.
  final func isHeld(_ entity: EntityDescription) throws -> Bool {
    try coordinator().openStores().contains { $0.holds(entity) }
  }
}

extension ManagedObject {
  /// Whether the object has values, so that it is no fault.
  final var isLoaded: Bool { row != nil || pending != nil }

  /// Whether the object's entity has a relationship.
  final func has(_ relationship: RelationshipDescription) -> Bool {
    entity === relationship.entity || entity.relationship(named: relationship.name) === relationship
  }
}

extension [ManagedObject?] {
  /// The objects, if all exist and are loaded; otherwise `nil`.
  fileprivate var allLoaded: [ManagedObject]? {
    var result: [ManagedObject] = []
    result.reserveCapacity(count)
    for case let object in self {
      guard let object, object.isLoaded else { return nil }
      result.append(object)
    }
    return result
  }
}
