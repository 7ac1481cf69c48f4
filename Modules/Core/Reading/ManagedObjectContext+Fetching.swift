extension ManagedObjectContext {
  /// Finds records and returns their objects.
  ///
  /// What the context and its parents have not saved is taken into account, by the same evaluator that defines what a
  /// predicate means. The order is total: see ``SortKey``.
  ///
  /// - Throws: ``ErrorCode/unknownEntity``, ``ErrorCode/unknownProperty``, ``ErrorCode/invalidPredicate``,
  ///   ``ErrorCode/invalidFetchRequest``, ``ErrorCode/noStore``, ``ErrorCode/cancelled``, and errors of the store.
  public final func fetch<Result: ManagedObject>(_ request: FetchRequest<Result>) throws -> [Result] {
    try operating {
      try measured(StackOperation(.fetch, name(of: request)), ifFailed: .fetch(records: 0)) {
        takeInIfMain()
        return try inOneState {
          let plan = try FetchPlan(request, in: self)
          let objects = plan.needsOverlay ? try fetchOverlaid(plan) : try fetchStored(plan)
          let result = objects.downcast(to: Result.self)
          try prefetch(plan.prefetches, of: result)
          return result
        }
      } as: {
        .fetch(records: $0.count)
      }
    }
  }

  /// The entity that a request is for, in reports to observers.
  final func name<Result: ManagedObject>(of request: FetchRequest<Result>) -> String {
    request.entityName ?? "\(Result.self)"
  }

  /// Counts the records that a fetch would find, its limit and offset applied.
  ///
  /// - Throws: As ``fetch(_:)``.
  public final func count<Result: ManagedObject>(for request: FetchRequest<Result>) throws -> Int {
    try operating {
      takeInIfMain()
      return try inOneState {
        let plan = try FetchPlan(request, in: self)
        if plan.needsOverlay { return plan.range(of: try overlaidStates(plan)).count }
        if plan.stores.count == 1, let count = try reader(for: plan.stores[0]).count(plan.query) { return count }
        return try storedRows(plan).count
      }
    }
  }

  // MARK: Without unsaved changes

  private final func fetchStored(_ plan: FetchPlan) throws -> [ManagedObject] {
    var result: [ManagedObject] = []
    let group = storage.groups.make(.fetch)
    let making: ObjectMaking = plan.returnsObjectsAsFaults ? .asFaults : []
    if plan.stores.count == 1 {
      try forEachStoredBatch(plan) { objects(for: $0, into: &result, making, in: group) }
    } else {
      objects(for: try storedRows(plan), into: &result, making, in: group)
    }
    storage.groups.enter(group)
    return result
  }

  /// Makes one group of objects from different reads.
  final func group(_ objects: [ManagedObject]) {
    let group = storage.groups.make(.fetch)
    for object in objects where !object.id.isTemporaryID {
      object.groupNumber = group.number
      object.groupIndex = group.add(object.id)
    }
    storage.groups.enter(group)
  }

  /// The rows of a fetch over any number of stores, in order and in range.
  final func storedRows(_ plan: FetchPlan) throws -> [Row] {
    if plan.stores.count == 1 {
      var rows: [Row] = []
      try forEachStoredBatch(plan) { rows += $0 }
      return rows
    }
    var query = plan.query
    query.limit = nil
    query.offset = 0
    var states: [RecordState] = []
    for store in plan.stores {
      try forEachRow(query, prepared: plan.predicate, in: store) { states += $0.map(RecordState.init) }
    }
    return plan.range(of: try sorted(states, by: plan.order, in: StoredRecords(context: self))).compactMap {
      if case .row(let row) = $0.values { return row }
      return nil
    }
  }

  /// Calls a block with the rows of a fetch from its one store, in order and in range, a batch at a time.
  private final func forEachStoredBatch(_ plan: FetchPlan, _ body: ([Row]) throws -> Void) throws {
    try forEachBatch(of: reader(for: plan.stores[0]).fetch(plan.query), plan, body)
  }

  /// The same with a running fetch.
  ///
  /// - Parameter isSharing: Whether the rows to keep share buffers with others of the process.
  final func forEachBatch(
    of fetch: StoreFetch, _ plan: FetchPlan, isSharing: Bool = true, _ body: ([Row]) throws -> Void
  ) throws {
    if fetch.isExact {
      return try drain(fetch.cursor, isSharing: isSharing, body)
    }
    var remainder = plan.wantedRange
    let predicate = fetch.isPredicateExact ? nil : plan.predicate
    let source = StoredRecords(context: self)
    guard fetch.isOrderExact else {
      var states: [RecordState] = []
      try drain(fetch.cursor, isSharing: isSharing) {
        states += try matching($0, predicate, in: source).map(RecordState.init)
      }
      return try body(
        plan.range(of: try sorted(states, by: plan.order, in: source)).compactMap {
          if case .row(let row) = $0.values { return row }
          return nil
        })
    }
    try drain(fetch.cursor, isSharing: isSharing, while: { remainder.isOpen }) { rows in
      try body(remainder.take(try matching(rows, predicate, in: source)))
    }
  }

  /// Calls a block with the rows that satisfy a query's predicate, in any order, a batch at a time.
  final func forEachRow(
    _ query: StoreQuery, prepared: PreparedPredicate?, in store: any PersistentStore, _ body: ([Row]) throws -> Void
  ) throws {
    let fetch = try reader(for: store).fetch(query)
    let predicate = fetch.isPredicateExact ? nil : prepared
    let source = StoredRecords(context: self)
    try drain(fetch.cursor) { try body(try matching($0, predicate, in: source)) }
  }

  private final func matching<S: RecordSource>(
    _ rows: [Row], _ predicate: PreparedPredicate?, in source: S
  ) throws -> [Row] where S.Record == RecordState {
    guard let predicate else { return rows }
    return try rows.filter { try predicate.matches(RecordState($0), in: source) }
  }

  /// Pulls batches until the cursor or the condition ends.
  private final func drain(
    _ cursor: any RowCursor, isSharing: Bool = true, while isWanted: () -> Bool = { true },
    _ body: ([Row]) throws -> Void
  ) throws {
    var isOpen = true
    defer { if isOpen { cursor.close() } }
    var rows: [Row] = []
    while isWanted() {
      if Task.isCancelled { throw CoherenceError(.cancelled, "The task was cancelled during a fetch.") }
      rows.removeAll(keepingCapacity: true)
      guard try cursor.next(into: &rows) else {
        isOpen = false
        return
      }
      if isSharing { share(&rows) }
      try body(rows)
    }
  }

  // MARK: With unsaved changes

  private final func fetchOverlaid(_ plan: FetchPlan) throws -> [ManagedObject] {
    let states = try wantedStates(plan)
    var result: [ManagedObject] = []
    result.reserveCapacity(states.count)
    for state in states {
      if let object = storage.registry.object(for: state.id) {
        result.append(object)
      } else if case .row(let row) = state.values {
        objects(for: [row], into: &result)
      }
    }
    group(result)
    return result
  }

  /// The records that a fetch returns, saved and unsaved, in order and in range.
  final func wantedStates(_ plan: FetchPlan) throws -> ArraySlice<RecordState> {
    try plan.isMergeable ? mergedStates(plan)[...] : plan.range(of: overlaidStates(plan))
  }

  /// The records of the request's range, saved and unsaved, in order. Where the store finds and orders exactly, no more
  /// rows are read than the range needs.
  private final func mergedStates(_ plan: FetchPlan) throws -> [RecordState] {
    let unsaved = try unsavedStates(for: plan)
    let source = ContextRecords(context: self)
    let matching = try matchingStates(unsaved, plan, in: source)
    var merge = try OverlayMerge(matching, into: plan, source: source)
    let query = plan.mergeQuery(shadowing: unsaved.hiddenCount)
    let fetch = try reader(for: plan.stores[0]).fetch(query)
    let predicate = fetch.isPredicateExact ? nil : plan.predicate
    func clean(_ rows: [Row]) throws -> [Row] {
      try self.matching(rows.filter { !unsaved.hides($0.id) }, predicate, in: source)
    }
    guard fetch.isOrderExact else {
      var states = matching
      try drain(fetch.cursor) { states += try clean($0).map(RecordState.init) }
      return Array(plan.range(of: try sorted(states, by: plan.order, in: source)))
    }
    try drain(fetch.cursor, while: { merge.isOpen }) { for row in try clean($0) { try merge.take(row) } }
    merge.finish()
    return merge.states
  }

  /// The unsaved records that a fetch finds, in any order.
  private final func matchingStates(
    _ unsaved: UnsavedStates, _ plan: FetchPlan, in source: ContextRecords
  ) throws -> [RecordState] {
    try unsaved.present.filter { state in
      try plan.includes(state.entity) && plan.predicate?.matches(state, in: source) != false
    }
  }

  /// All matching records, saved and unsaved, in order.
  private final func overlaidStates(_ plan: FetchPlan) throws -> [RecordState] {
    let unsaved = try unsavedStates(for: plan)
    var query = plan.query
    query.limit = nil
    query.offset = 0
    query.sortKeys = []
    if plan.dependsOnUnsaved { query.predicate = nil }
    let predicate = plan.predicate
    let source = ContextRecords(context: self)
    var states: [RecordState] = []
    for store in plan.stores {
      let prepared = plan.dependsOnUnsaved ? nil : predicate
      try forEachRow(query, prepared: prepared, in: store) { rows in
        let clean = rows.filter { !unsaved.hides($0.id) }
        let found = try plan.dependsOnUnsaved ? matching(clean, predicate, in: source) : clean
        states += found.map(RecordState.init)
      }
    }
    states += try matchingStates(unsaved, plan, in: source)
    return try sorted(states, by: plan.order, in: source)
  }

  /// States in a plan's order; ties by key, unsaved records last in order of insertion.
  private final func sorted<S: RecordSource>(
    _ states: [RecordState], by order: PreparedOrder?, in source: S
  ) throws -> [RecordState] where S.Record == RecordState {
    guard let order else { return states.sorted { ManagedObjectID.precedes($0.id, $1.id) } }
    let decorated = try states.map { (values: try order.sortValues(of: $0, in: source), state: $0) }
    return decorated.sorted { left, right in
      let comparison = order.order(left.values, right.values)
      return comparison == 0 ? ManagedObjectID.precedes(left.state.id, right.state.id) : comparison < 0
    }.map(\.state)
  }

  /// The members of a to-many relationship that satisfy a predicate, in the relationship's order.
  final func filteredMembers<Member: ManagedObject>(
    of relationship: RelationshipDescription, owner: ManagedObject, by predicate: FetchPredicate
  ) throws -> [Member] {
    try processDeletes()
    let members = try owner.memberIDs(of: relationship)
    var request = FetchRequest<ManagedObject>(entityName: relationship.destination.name)
    request.predicate =
      relationship.inverse?.isToMany == false && !owner.id.isTemporaryID
      ? .and([
        .comparison(.path(PropertyPath(names: [relationship.inverse!.name])), .equal, .value(.reference(owner.id))),
        predicate,
      ])
      : .and([.membership(.path(.own), in: members.map(AttributeValue.reference)), predicate])
    let found = Dictionary(try fetch(request).map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    return members.compactMap { found[$0] as? Member }
  }
}

extension ManagedObject {
  final func filteredMembers<Member: ManagedObject>(
    of relationship: RelationshipDescription, by predicate: FetchPredicate
  ) throws -> [Member] {
    check()
    guard let context = managedObjectContext else { throw gone() }
    return try context.filteredMembers(of: relationship, owner: self, by: predicate)
  }
}

extension [ManagedObject] {
  /// The same array, as objects of their known class.
  fileprivate func downcast<Object: ManagedObject>(to type: Object.Type) -> [Object] {
    // References are the same for every class.
    return unsafeBitCast(self, to: [Object].self)
  }
}
