// Requests for the members of one owner.

extension ManagedObject {
  /// Returns the members that satisfy a request, in its order or the order of the list, and in its range.
  final func fetchMembers<Member: ManagedObject>(
    of relationship: RelationshipDescription, _ request: FetchRequest<Member>
  ) throws -> [Member] {
    check()
    guard let context = managedObjectContext else { throw deletedError() }
    return try context.fetchMembers(of: relationship, owner: self, request)
  }

  /// Returns the number of members that satisfy a request, in its range.
  final func countMembers<Member: ManagedObject>(
    of relationship: RelationshipDescription, _ request: FetchRequest<Member>
  ) throws -> Int {
    check()
    guard let context = managedObjectContext else { throw deletedError() }
    return try context.countMembers(of: relationship, owner: self, request)
  }
}

extension ManagedObjectContext {
  /// As ``ManagedObject/fetchMembers(of:_:)``, for an owner.
  final func fetchMembers<Member: ManagedObject>(
    of relationship: RelationshipDescription, owner: ManagedObject, _ request: FetchRequest<Member>
  ) throws -> [Member] {
    try operating {
      try measured(StackOperation(.fetch, relationship.destination.name), ifFailed: .fetch(records: 0)) {
        let objects = try preparingRead { try members(of: relationship, owner: owner, request) }
        awaken(objects)
        return objects.downcast(to: Member.self)
      } as: {
        .fetch(records: $0.count)
      }
    }
  }

  /// As ``ManagedObject/countMembers(of:_:)``, for an owner.
  final func countMembers<Member: ManagedObject>(
    of relationship: RelationshipDescription, owner: ManagedObject, _ request: FetchRequest<Member>
  ) throws -> Int {
    try operating {
      try preparingRead {
        enterUnit()
        let requestPlan = try plan(request)
        if request.predicate == nil {
          return requestPlan.range.part(of: 0..<(try owner.memberCount(of: relationship))).count
        }
        let source = source(of: relationship, owner: owner, requestPlan, needsOrder: false)
        switch source {
        case .condition(let scope): return try count(of: try executablePlan(request, within: scope))
        case .store(let reader):
          let query = MemberQuery(
            relationship: relationship, owner: owner.recordID.key, query: requestPlan.unorderedQuery)
          if let count = try reader.countMembers(query) {
            if count == 0 { try requireOwner(owner, of: relationship) }
            return requestPlan.range.part(of: 0..<count).count
          }
        case .list: break
        }
        return try count(of: try executablePlan(request, within: membership(in: owner.memberIDs(of: relationship))))
      }
    }
  }

  // MARK: Sources

  /// The way to read the members of one owner.
  private enum Source {
    /// A fetch of the destination with a condition, which unsaved changes of members overlay.
    case condition(FetchPredicate)
    /// A reader that returns the members in their order, if no unsaved change matters.
    case store(any MemberReading)
    /// The list of members.
    case list
  }

  /// Chooses the way to read the members for a request.
  ///
  /// - Parameter needsOrder: Whether the order of the members matters.
  private final func source(
    of relationship: RelationshipDescription, owner: ManagedObject, _ plan: FetchPlan, needsOrder: Bool = true
  ) -> Source {
    guard !owner.recordID.isTemporaryID, owner.pending?.kind != .deleted, owner.loadedList(of: relationship) == nil,
      !storage.retainedReads.hasList(of: relationship, owner: owner.recordID)
    else { return .list }
    if !needsOrder || !relationship.isOrdered || !plan.query.sortKeys.isEmpty,
      let scope = memberCondition(of: relationship, owner: owner.recordID)
    {
      return .condition(scope)
    }
    guard !plan.needsOverlay, MemberStates(of: relationship, owner: owner.recordID, in: self).isEmpty,
      let reader = try? memberReader(of: relationship, owner: owner)
    else { return .list }
    return .store(reader)
  }

  /// Returns the members that satisfy a request, from the cheapest source.
  private final func members<Member>(
    of relationship: RelationshipDescription, owner: ManagedObject, _ request: FetchRequest<Member>
  ) throws -> [ManagedObject] {
    enterUnit()
    let requestPlan = try plan(request)
    if let page = try page(of: relationship, owner: owner, requestPlan) {
      if page.isEmpty { try requireOwner(owner, of: relationship) }
      try prefetch(requestPlan.prefetches, of: page)
      return page
    }
    switch source(of: relationship, owner: owner, requestPlan) {
    case .condition(let scope): return try objects(of: try executablePlan(request, within: scope))
    case .store(let reader):
      let query = MemberQuery(relationship: relationship, owner: owner.recordID.key, query: requestPlan.query)
      if let fetch = try reader.fetchMembers(query) {
        let objects = try objects(of: fetch, requestPlan.query.entity)
        if objects.isEmpty { try requireOwner(owner, of: relationship) }
        try prefetch(requestPlan.prefetches, of: objects)
        return objects
      }
    case .list: break
    }
    return try members(of: relationship, owner: owner, request, requestPlan)
  }

  /// The objects of a fetch without a further filter, as a group whose relationships are read together.
  private final func objects(of fetch: StoreFetch, _ entity: EntityDescription) throws -> [ManagedObject] {
    let group = storage.groups.make(.fetch)
    var result: [ManagedObject] = []
    try forEachBatch(of: fetch.cursor, of: entity) {
      objects(for: try belowRows($0), into: &result, .awakensLater, in: group)
    }
    storage.groups.enter(group)
    return result
  }

  // MARK: Pages in the order of the list

  /// Returns the members in the range of a plan without condition and order, in the order of an ordered list; `nil` if
  /// the store does not know the order, or the list is loaded.
  ///
  /// Unsaved changes of the members' values do not matter for such a plan, and the context's own additions follow the
  /// saved members.
  private final func page(
    of relationship: RelationshipDescription, owner: ManagedObject, _ plan: FetchPlan
  ) throws -> [ManagedObject]? {
    guard relationship.isOrdered, plan.query.predicate == nil, plan.query.sortKeys.isEmpty,
      !owner.recordID.isTemporaryID, owner.pending?.kind != .deleted, owner.loadedList(of: relationship) == nil,
      let limit = plan.query.limit, relationship.inverse != nil, !storage.mayListNonmembers(relationship)
    else { return nil }
    let states = MemberStates(of: relationship, owner: owner.recordID, in: self)
    guard !states.areInherited, !states.areReordered, !states.mayBeDeleted,
      let reader = try memberReader(of: relationship, owner: owner)
    else { return nil }
    let changes = owner.pending?.members[relationship]
    let removed = changes?.removed ?? []
    var added = changes?.added ?? []
    var range = plan.range
    // The store's list has the removed members still, which the context leaves out.
    let (wanted, isBeyond) = plan.query.offset.addingReportingOverflow(limit)
    guard !isBeyond, wanted < Int.max - removed.count else { return nil }
    var query = MemberQuery(relationship: relationship, owner: owner.recordID.key)
    query.query.limit = wanted + removed.count
    if removed.isEmpty, added.isEmpty {
      (query.query.limit, query.query.offset, range) = (limit, plan.query.offset, .all)
    }
    guard let fetch = try reader.fetchMembers(query) else { return nil }
    let group = storage.groups.make(.fetch)
    var result: [ManagedObject] = []
    try forEachBatch(of: fetch.cursor, of: plan.query.entity, while: { range.isOpen }) { rows in
      // A member added both by the context and by another writer has its position in the store.
      if !added.isEmpty {
        let saved = Set(rows.lazy.map(\.id))
        added.removeAll { saved.contains($0) && !removed.contains($0) }
      }
      let present = removed.isEmpty ? rows : rows.filter { !removed.contains($0.id) }
      objects(for: try belowRows(range.takeNext(present)), into: &result, .awakensLater, in: group)
    }
    storage.groups.enter(group)
    for id in added where range.includesNext() { result.append(try owner.member(id, of: relationship)) }
    return result
  }

  /// Checks that the owner of an empty ordered list exists. A store that reads members itself finds none for a missing
  /// owner.
  ///
  /// - Throws: ``ErrorCode/objectNotFound``, as the accessor of the list does.
  private final func requireOwner(_ owner: ManagedObject, of relationship: RelationshipDescription) throws {
    if relationship.isOrdered { try owner.loadRow() }
  }

  // MARK: Lists

  /// The condition that a record has one of some identifiers.
  private final func membership(in ids: some Sequence<ManagedObjectID>) -> FetchPredicate {
    .membership(.path(.own), in: ids.map(AttributeValue.reference))
  }

  /// Fetches members by the list of all members.
  private final func members<Member>(
    of relationship: RelationshipDescription, owner: ManagedObject, _ request: FetchRequest<Member>,
    _ requestPlan: FetchPlan
  ) throws -> [ManagedObject] {
    let isLoaded = owner.loadedList(of: relationship) != nil
    // A context that does not follow its parent or its stores does not keep the list, because the list would miss later
    // changes, which a store that reads members itself finds.
    defer { if parent != nil || !showsSavesOfOthers, !isLoaded { owner.collections?[relationship] = nil } }
    let ids = try owner.memberIDs(of: relationship)
    guard request.sortKeys.isEmpty else {
      return try objects(of: try executablePlan(request, within: membership(in: ids)))
    }
    if request.predicate == nil {
      let page = requestPlan.range.part(of: ids)
      var found = try presentObjects(page)
      // Records that vanished after the list was loaded have no place in the range.
      if found.count < page.count { found = Array(requestPlan.range.part(of: try presentObjects(ids[...]))) }
      try prefetch(requestPlan.prefetches, of: found)
      return found
    }
    var unlimited = request
    (unlimited.fetchLimit, unlimited.fetchOffset) = (nil, 0)
    let plan = try executablePlan(unlimited, within: membership(in: ids))
    let found = Dictionary(try objects(of: plan).map { ($0.recordID, $0) }, uniquingKeysWith: { first, _ in first })
    return Array(requestPlan.range.part(of: ids.compactMap { found[$0] }))
  }

  /// The objects of identifiers in their order, loaded together, without missing records.
  private final func presentObjects(_ ids: ArraySlice<ManagedObjectID>) throws -> [ManagedObject] {
    let registered = storage.registry.objects(for: ids)
    let unloaded = zip(ids, registered).compactMap { id, object in object?.isLoaded == true ? nil : id }
    var loaded: [ManagedObject] = []
    if !unloaded.isEmpty { objects(for: try loadRows(unloaded), into: &loaded) }
    let found = storage.registry.objects(for: ids)
    withExtendedLifetime((registered, loaded)) {}
    let missing = zip(ids, found).compactMap { id, object in object?.isLoaded == true ? nil : id }
    if !missing.isEmpty { noteMissing(missing) }
    let present = found.compactMap { $0?.isLoaded == true ? $0 : nil }
    group(present)
    return present
  }
}

extension FetchRange {
  /// The range of every record.
  fileprivate static let all = FetchRange(offset: 0, limit: nil)
}
