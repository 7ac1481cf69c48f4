// Counts and look-ups of members, without lists of all members.

extension ManagedObject {
  /// The number of members of a to-many relationship.
  final func memberCount(of relationship: RelationshipDescription) throws -> Int {
    check()
    guard let context = try contextForReadingMembers(of: relationship) else {
      return try memberIDs(of: relationship).count
    }
    return try context.memberCount(of: relationship, owner: self) ?? memberIDs(of: relationship).count
  }

  /// Whether a to-many relationship has no members.
  final func hasNoMembers(of relationship: RelationshipDescription) throws -> Bool {
    check()
    guard let context = try contextForReadingMembers(of: relationship) else {
      return try memberIDs(of: relationship).isEmpty
    }
    return try context.hasNoMembers(of: relationship, owner: self) ?? memberIDs(of: relationship).isEmpty
  }

  /// Whether a record is a member. Does not make a list of all members, if the store can look the member up.
  final func hasMember(_ id: ManagedObjectID, of relationship: RelationshipDescription) throws -> Bool {
    check()
    if let context = try contextForReadingMembers(of: relationship),
      let isMember = try context.hasMember(id, of: relationship, owner: self)
    {
      return isMember
    }
    let list = try memberList(of: relationship)
    if let storage, storage.mayListNonmembers(relationship),
      storage.isLeftOut(storage.record(for: id), of: relationship, owner: recordID)
    {
      return false
    }
    return pending?.members[relationship]?.contains(id) ?? list.contains(id)
  }

  /// The context, for a read of members from the store; `nil` if the list is loaded, and for an owner that was never
  /// saved or is marked for deletion.
  final func contextForReadingMembers(of relationship: RelationshipDescription) throws -> ManagedObjectContext? {
    if flags.contains(.detached) { throw deletedError() }
    try removeDeletedMembers(of: relationship)
    guard storage != nil, !recordID.isTemporaryID, pending?.kind != .deleted else { return nil }
    // Loaded first, because an ordered list belongs to a version of its owner's row.
    if relationship.isOrdered { try loadRow() }
    guard loadedList(of: relationship) == nil else { return nil }
    return managedObjectContext
  }
}

extension ManagedObjectContext {
  /// The number of members of an owner; `nil` if the list must be loaded.
  final func memberCount(of relationship: RelationshipDescription, owner: ManagedObject) throws -> Int? {
    try loadingMembers(of: relationship, owner: owner) { try presentCount($0, of: relationship, owner: owner) }
  }

  /// Whether an owner has no members; `nil` if the list must be loaded.
  final func hasNoMembers(of relationship: RelationshipDescription, owner: ManagedObject) throws -> Bool? {
    try loadingMembers(of: relationship, owner: owner) { states in
      if states.addedCount > 0 { return false }
      // A read of the first member is cheaper than a count, except in an ordered list, which the store would have to
      // order.
      if !relationship.isOrdered, states.savedIDs.isEmpty,
        storage.retainedReads.count(of: relationship, owner: owner.recordID) == nil,
        storage.groups.group(of: owner) == nil, let reader = try memberReader(of: relationship, owner: owner)
      {
        var query = MemberQuery(relationship: relationship, owner: owner.recordID.key)
        query.query.limit = 1
        if let fetch = try reader.fetchMembers(query) {
          noteFault(of: relationship, in: owner.entity)
          var isEmpty = true
          try forEachBatch(of: fetch.cursor, of: query.query.entity, isSharing: false, while: { isEmpty }) {
            isEmpty = $0.isEmpty
          }
          return isEmpty
        }
      }
      return try presentCount(states, of: relationship, owner: owner).map { $0 == 0 }
    }
  }

  /// Whether a record is a member of an owner; `nil` if the list must be loaded.
  final func hasMember(
    _ id: ManagedObjectID, of relationship: RelationshipDescription, owner: ManagedObject
  ) throws -> Bool? {
    // A record of another hierarchy is no member, and a condition with its identifier would be invalid.
    guard id.entity.root === relationship.destination.root else { return false }
    return try loadingMembers(of: relationship, owner: owner, needsPositions: false) { states in
      if let isMember = states.isMemberByID[id] { return isMember }
      guard !id.isTemporaryID else { return false }
      if try prefersList(of: relationship, owner: owner) { return nil }
      guard storage.retainedReads.mayLookUp(of: relationship, owner: owner.recordID) else { return nil }
      let isRecord = FetchPredicate.comparison(.path(.own), .equal, .value(.reference(id)))
      guard let count = try storedCount(of: relationship, owner: owner, where: isRecord) else { return nil }
      noteFault(of: relationship, in: owner.entity)
      scheduleUnitEnd()
      return count > 0
    }
  }

  /// Whether the list of an owner is loaded in place of a look-up.
  ///
  /// A loop that adds a member to each of many records would send a look-up for each. After some look-ups, the lists of
  /// neighbours are read together, if they are short.
  private final func prefersList(of relationship: RelationshipDescription, owner: ManagedObject) throws -> Bool {
    guard storage.retainedReads.hasManyLookups(of: relationship), let group = storage.groups.group(of: owner),
      let count = try savedCount(of: relationship, owner: owner), count <= Self.longestShortList
    else { return false }
    let average = storage.retainedReads.averageCount(of: relationship)
    guard average <= Self.longestShortList else { return false }
    group.note(members: average, of: 1, for: relationship)
    return true
  }

  /// The greatest number of members of a list whose read costs about as much as a look-up.
  private static let longestShortList = 32

  /// Runs a read of members in the unit of work, with the unsaved changes of the list.
  ///
  /// - Parameter needsPositions: Whether the caller may use positions of the list next.
  /// - Returns: `nil` if the list must be loaded: it was read together with a neighbour's list, its positions must stay
  ///   valid outside of `perform`, it has too many unsaved changes for the condition of a query, or a parent may have
  ///   deleted members.
  private final func loadingMembers<T>(
    of relationship: RelationshipDescription, owner: ManagedObject, needsPositions: Bool = true,
    _ body: (MemberStates) throws -> T?
  ) throws -> T? {
    let isDirect = storage.confinement.isUsedDirectly
    if needsPositions, isDirect, relationship.isOrdered { return nil }
    return try loading {
      enterUnit()
      if storage.retainedReads.hasList(of: relationship, owner: owner.recordID) { return nil }
      let states = MemberStates(of: relationship, owner: owner.recordID, in: self)
      guard states.isMemberByID.count <= FetchExecution.greatestExclusion, !states.mayBeDeleted else { return nil }
      return try body(states)
    }
  }

  // MARK: In the store

  /// The reader for the members of an owner; `nil` for a reader without ``MemberReading``.
  final func memberReader(
    of relationship: RelationshipDescription, owner: ManagedObject
  ) throws -> (any MemberReading)? {
    let store = try coordinator().store(of: owner.recordID)
    guard store.holds(relationship.destination) else { return nil }
    return try reader(for: store) as? any MemberReading
  }

  /// The condition that the members of an owner satisfy; `nil` for a relationship stored as links.
  final func memberCondition(of relationship: RelationshipDescription, owner: ManagedObjectID) -> FetchPredicate? {
    guard case .inverseColumn(let inverse, _) = relationship.storage else { return nil }
    return .comparison(.path(PropertyPath(names: [inverse.name])), .equal, .value(.reference(owner)))
  }

  /// The number of members of a list with its unsaved changes; `nil` if the store cannot count them.
  private final func presentCount(
    _ states: MemberStates, of relationship: RelationshipDescription, owner: ManagedObject
  ) throws -> Int? {
    if states.savedIDs.isEmpty {
      return try savedCount(of: relationship, owner: owner).map { $0 + states.addedCount }
    }
    return try remainingCount(states, of: relationship, owner: owner)
      ?? changedCount(states, of: relationship, owner: owner)
  }

  /// The number of members of a list without the records that the context leaves out of all lists of the relationship;
  /// `nil` for other changes of the list, and for an owner without neighbours.
  ///
  /// A statement for each owner would exclude the same records again and again. Instead the members of the neighbours
  /// are counted together, and one read finds all owners of the records.
  private final func remainingCount(
    _ states: MemberStates, of relationship: RelationshipDescription, owner: ManagedObject
  ) throws -> Int? {
    guard states.onlyLeavesOut, case .links(let table, let isForward) = relationship.storage,
      storage.groups.group(of: owner) != nil
    else { return nil }
    let store = try coordinator().store(of: owner.recordID)
    guard store.holds(table.sourceRoot), store.holds(table.targetRoot),
      let saved = try savedCount(of: relationship, owner: owner)
    else { return nil }
    let key = owner.recordID.key
    let records = states.leftOutIDs
    if let kept = storage.retainedReads.leftOutCounts(of: relationship, records, in: store.identifier) {
      return saved - (kept.byOwner[key] ?? 0)
    }
    var counts = LeftOutCounts(store: store.identifier, records: records)
    let keys = states.savedIDs.filter { $0.storeIdentifier == store.identifier }.map(\.key)
    for link in try reader(for: store).links(table, of: keys, fromSource: !isForward) {
      counts.byOwner[isForward ? link.source : link.target, default: 0] += 1
    }
    storage.retainedReads.retain(counts, of: relationship)
    scheduleUnitEnd()
    return saved - (counts.byOwner[key] ?? 0)
  }

  /// The number of members of a list with unsaved changes; `nil` if the store cannot count them. The store counts the
  /// members without the added and removed records, and the added records are added to the count.
  private final func changedCount(
    _ states: MemberStates, of relationship: RelationshipDescription, owner: ManagedObject
  ) throws -> Int? {
    let isUnchanged = FetchPredicate.not(.membership(.path(.own), in: states.savedIDs.map(AttributeValue.reference)))
    noteFault(of: relationship, in: owner.entity)
    return try storedCount(of: relationship, owner: owner, where: isUnchanged).map { $0 + states.addedCount }
  }

  /// The number of saved members that satisfy a condition on themselves; `nil` if the store cannot count them.
  private final func storedCount(
    of relationship: RelationshipDescription, owner: ManagedObject, where condition: FetchPredicate
  ) throws -> Int? {
    let store = try coordinator().store(of: owner.recordID)
    guard store.holds(relationship.destination) else { return 0 }
    guard let scope = memberCondition(of: relationship, owner: owner.recordID) else {
      guard let reader = try reader(for: store) as? any MemberReading else { return nil }
      var query = MemberQuery(relationship: relationship, owner: owner.recordID.key)
      query.query.predicate = condition
      return try reader.countMembers(query)
    }
    let query = StoreQuery(entity: relationship.destination, predicate: .and([scope, condition]))
    return try reader(for: store).count(query)
  }

  /// The number of saved members of an owner; `nil` if the store cannot count them. The members of the owner's
  /// neighbours are counted in the same read.
  private final func savedCount(of relationship: RelationshipDescription, owner: ManagedObject) throws -> Int? {
    if let count = storage.retainedReads.count(of: relationship, owner: owner.recordID) { return count }
    let neighbouringOwners = storage.groups.group(of: owner).map {
      neighbours(of: owner, in: $0, for: relationship, budget: .max).filter {
        $0.recordID.storeIdentifier == owner.recordID.storeIdentifier
      }
    }
    let store = try coordinator().store(of: owner.recordID)
    guard store.holds(relationship.destination) else { return 0 }
    let reader = try reader(for: store)
    let owners = [owner.recordID] + (neighbouringOwners ?? []).map(\.recordID)
    if owners.count == 1 { noteFault(of: relationship, in: owner.entity) }
    guard let reader = reader as? any MemberReading else {
      // One count for each neighbour would cost more than their lists, which are read together.
      guard owners.count == 1, let scope = memberCondition(of: relationship, owner: owner.recordID) else { return nil }
      return try reader.count(StoreQuery(entity: relationship.destination, predicate: scope))
    }
    for start in stride(from: 0, to: owners.count, by: Self.ownersOfOneRead) {
      let batch = owners[start..<min(start + Self.ownersOfOneRead, owners.count)]
      let counts = try reader.memberCounts(of: relationship, owners: batch.map(\.key))
      for id in batch { storage.retainedReads.retain(count: counts[id.key] ?? 0, of: relationship, owner: id) }
    }
    scheduleUnitEnd()
    return storage.retainedReads.count(of: relationship, owner: owner.recordID)
  }
}
