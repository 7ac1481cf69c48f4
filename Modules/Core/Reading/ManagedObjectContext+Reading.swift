// The steps that all reads share: preparing, and reading a cursor to its end.

extension ManagedObjectContext {
  /// Prepares a read and runs a block with the plan. All reads in the block see one state of each store.
  ///
  /// A context used without `perform` processes its inbox first, once for the read. Then the delete rules of deleted
  /// objects are applied, because they change which records are unsaved.
  @inline(__always) final func reading<R: ManagedObject, T>(
    _ request: FetchRequest<R>, _ body: (FetchPlan) throws -> T
  ) throws -> T {
    try preparingRead { try body(try executablePlan(request)) }
  }

  /// Prepares a read and runs a block. All reads in the block see one state of each store.
  @inline(__always) final func preparingRead<T>(_ body: () throws -> T) throws -> T {
    processInboxIfUsedDirectly()
    let result = try inOneState {
      try applyReadableDeleteRules()
      return try body()
    }
    if lease.hasNewReader { forgetStateBeforeRead() }
    return result
  }

  /// Makes the plan of a request, and reads which records depend on unsaved changes of others; see ``narrowed(_:)``.
  final func executablePlan<R: ManagedObject>(
    _ request: FetchRequest<R>, within scope: FetchPredicate? = nil, isReported: Bool = true
  ) throws -> FetchPlan {
    try narrowed(try plan(request, within: scope, isReported: isReported))
  }

  /// Makes the plan of a request, without a read.
  ///
  /// - Parameters:
  ///   - scope: A further condition on values of the record itself.
  ///   - isReported: Whether the coordinator's fetch observers are notified.
  final func plan<R: ManagedObject>(
    _ request: FetchRequest<R>, within scope: FetchPredicate? = nil, isReported: Bool = true
  ) throws -> FetchPlan {
    let unsaved = request.includesPendingChanges ? UnsavedHierarchies(in: self) : UnsavedHierarchies()
    let coordinator = try coordinator()
    let plan = try FetchPlan(
      request, in: coordinator, among: storeIdentifiers, within: scope, current: current, unsaved: unsaved)
    if reportsFetches, isReported { coordinator.fetchObservers.notify(of: plan.query.entity) }
    return plan
  }

  // MARK: Cursors

  /// Calls a block with the rows that satisfy a query's predicate, in any order, a batch at a time.
  final func forEachRow(
    _ query: StoreQuery, prepared: PreparedPredicate?, in store: any PersistentStore, _ body: ([Row]) throws -> Void
  ) throws {
    let fetch = try beginFetch(query, from: reader(for: store))
    guard !fetch.isPredicateExact, let prepared else {
      return try forEachBatch(of: fetch.cursor, of: query.entity, body)
    }
    let source = StoredRecords(context: self)
    try forEachBatch(of: fetch.cursor, of: query.entity) { rows in
      try body(try source.matching(rows, prepared, of: query.entity))
    }
  }

  /// Calls a block with the batches of a cursor, until the cursor ends or the caller wants no more rows.
  ///
  /// - Parameters:
  ///   - entity: The entity of the rows. A row of another entity is an error.
  ///   - isSharing: Whether rows share their buffers with equal rows of the process.
  final func forEachBatch(
    of cursor: any RowCursor, of entity: EntityDescription, isSharing: Bool = true,
    while isWanted: () -> Bool = { true }, _ body: ([Row]) throws -> Void
  ) throws {
    var rows: [Row] = []
    try exhaust(cursor, while: isWanted) {
      rows.removeAll(keepingCapacity: true)
      guard try cursor.next(into: &rows) else { return false }
      try entity.check(rows)
      if isSharing { share(&rows) }
      try body(rows)
      return true
    }
  }

  /// Calls a block that reads a batch of a cursor, until the block returns `false` for the cursor's end, or the caller
  /// wants no more rows. A cursor before its end is then closed.
  @inline(__always) final func exhaust(
    _ cursor: any RowCursor, while isWanted: () -> Bool = { true }, next: () throws -> Bool
  ) throws {
    var isOpen = true
    defer { if isOpen { cursor.close() } }
    while isOpen, isWanted() {
      if Task.isCancelled { throw CoherenceError(.cancelled, "The task was cancelled during a fetch.") }
      isOpen = try next()
    }
  }
}
