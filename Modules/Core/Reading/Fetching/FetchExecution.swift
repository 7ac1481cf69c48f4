/// Executes a plan: reads the stores, filters and orders rows unless the stores have done so, overlays unsaved records,
/// cuts the range, and passes the records to a sink.
///
/// The sink makes objects, values, comparisons or a count from the records.
struct FetchExecution {
  private let plan: FetchPlan
  private let context: ManagedObjectContext
  /// The unsaved records to overlay; `nil` for the unsaved records at the time of the execution.
  private let unsaved: UnsavedStates?

  init(_ plan: FetchPlan, in context: ManagedObjectContext, unsaved: UnsavedStates? = nil) {
    self.plan = plan
    self.context = context
    self.unsaved = unsaved
  }

  /// Passes the records to a sink, in the plan's order and range.
  func run<Sink: FetchSink>(into sink: inout Sink) throws {
    switch (plan.needsOverlay, plan.isMergeable) {
    case (false, true): try stream(into: &sink)
    case (false, false): try order(storedFilter, into: &sink)
    case (true, true): try stream(overlaidFilter(), into: &sink)
    case (true, false): try order(overlaidFilter(), into: &sink)
    }
  }

  /// Returns the number of records in the plan's range, counted by the stores; `nil` if a store cannot count them, or if
  /// too many records would have to be excluded. The stores leave out saved records with unsaved changes, which the
  /// context counts.
  func storedCount() throws -> Int? {
    guard !plan.dependsOnUnsaved else { return nil }
    guard plan.needsOverlay else {
      if plan.stores.count == 1 { return try context.reader(for: plan.stores[0]).count(plan.query) }
      return try sumOfCounts(plan.unorderedQuery).map { plan.range.part(of: 0..<$0).count }
    }
    // By the index, the identifiers to exclude are unknown: all records with the target would be read instead of counted.
    let filter = try overlaidFilter(findsByTarget: false)
    guard let replacedIDs = filter.unsaved.replacedIDs, replacedIDs.count <= Self.greatestExclusion,
      let stored = try sumOfCounts(plan.unorderedQuery.excluding(replacedIDs))
    else { return nil }
    return plan.range.part(of: 0..<(stored + (try filter.matchingUnsaved().count))).count
  }

  /// The number of records of all stores that satisfy a query without a range; `nil` if a store cannot count them.
  private func sumOfCounts(_ query: StoreQuery) throws -> Int? {
    var sum = 0
    for store in plan.stores {
      guard let count = try context.reader(for: store).count(query) else { return nil }
      sum += count
    }
    return sum
  }

  /// The greatest number of records that the condition of a count excludes.
  static let greatestExclusion = 500

  /// Passes all matching records to a sink, in any order, without regard to the range.
  func scan<Sink: FetchSink>(into sink: inout Sink) throws {
    let query = plan.unorderedQuery
    guard plan.needsOverlay else { return try scan(storedFilter, query, into: &sink) }
    try scan(overlaidFilter(), query, into: &sink)
  }

  /// The filter for a plan without an overlay, which reads the state of the stores.
  private var storedFilter: RecordFilter<StoredRecords> {
    RecordFilter(plan, StoredRecords(context: context), unsaved: UnsavedStates())
  }

  /// The filter for a plan with an overlay, which reads the state of the context. The rows of a plan without unsaved
  /// changes of other records are filtered by the state of the stores, as a store itself filters them.
  private func overlaidFilter(findsByTarget: Bool = true) throws -> RecordFilter<ContextRecords> {
    RecordFilter(
      plan, ContextRecords(context: context),
      unsaved: try unsaved ?? context.unsavedStates(for: plan, findsByTarget: findsByTarget),
      stored: plan.dependsOnUnsaved ? nil : StoredRecords(context: context))
  }

  // MARK: In order

  /// Reads the rows of the only store in order, no further than the range if the store orders them exactly.
  private func stream<Sink: FetchSink>(into sink: inout Sink) throws {
    let reader = try context.reader(for: plan.stores[0])
    if try sink.receiveAll(inOrderOf: plan.query, in: plan.stores[0], from: reader) { return }
    let fetch = try context.beginFetch(plan.query, from: reader)
    guard fetch.isExact else {
      let filter = storedFilter
      return try pass(fetch, filter, OverlayMerge([], plan, filter.source), to: &sink)
    }
    if try sink.receiveAll(from: fetch.cursor, in: context) { return }
    try context.forEachBatch(of: fetch.cursor, of: plan.query.entity, isSharing: sink.sharesRows) {
      try sink.receive($0)
    }
  }

  /// Reads the rows of the only store in order, no further than the range if the store orders them exactly, and merges
  /// unsaved records into them.
  private func stream<Source, Sink: FetchSink>(_ filter: RecordFilter<Source>, into sink: inout Sink) throws {
    // Made before the fetch begins, so that a failure leaves no cursor open.
    let merge = try OverlayMerge(filter.matchingUnsaved(), plan, filter.source)
    let query = plan.orderedQuery(replacing: filter.unsaved.replacedCount)
    try pass(
      try context.beginFetch(query, from: context.reader(for: plan.stores[0])), filter, merge, to: &sink)
  }

  /// Passes the rows of a begun fetch to a sink, with the unsaved records merged into them. Rows that the store has not
  /// ordered are all read and ordered first.
  private func pass<Source, Sink: FetchSink>(
    _ fetch: StoreFetch, _ filter: RecordFilter<Source>, _ merge: OverlayMerge<Source>, to sink: inout Sink
  ) throws {
    let predicate = fetch.isPredicateExact ? nil : plan.predicate
    var merge = merge
    guard fetch.isOrderExact else {
      var all = RecordSink(merge.unsavedRecords, sharesRows: sink.sharesRows)
      try context.forEachBatch(of: fetch.cursor, of: plan.query.entity, isSharing: sink.sharesRows) {
        all.receive(try filter.matching($0, predicate))
      }
      return try sink.receive(plan.range.part(of: try filter.sorted(all.records)))
    }
    try context.forEachBatch(
      of: fetch.cursor, of: plan.query.entity, isSharing: sink.sharesRows, while: { merge.isOpen }
    ) {
      try merge.pass(filter.matching($0, predicate), to: &sink)
    }
    try merge.finish(into: &sink)
  }

  /// Reads the matching candidates for the range, orders them and cuts the range.
  private func order<Source, Sink: FetchSink>(_ filter: RecordFilter<Source>, into sink: inout Sink) throws {
    var all = RecordSink(sharesRows: sink.sharesRows)
    try scan(filter, plan.candidateQuery(replacing: filter.unsaved.replacedCount), into: &all)
    try sink.receive(plan.range.part(of: try filter.sorted(all.records)))
  }

  // MARK: In any order

  /// Passes the matching rows of all stores to a sink, then the matching unsaved records.
  ///
  /// - Parameter query: The query for the rows. With a limit, its first rows of each store suffice.
  private func scan<Source, Sink: FetchSink>(
    _ filter: RecordFilter<Source>, _ query: StoreQuery, into sink: inout Sink
  ) throws {
    for store in plan.stores {
      let reader = try context.reader(for: store)
      if !plan.dependsOnUnsaved, try sink.receiveAll(of: query, from: reader, except: filter.unsaved) { continue }
      let fetch = try context.beginFetch(query, from: reader)
      let predicate = plan.dependsOnUnsaved || !fetch.isPredicateExact ? plan.predicate : nil
      var missing = query.limit ?? .max
      try context.forEachBatch(
        of: fetch.cursor, of: query.entity, isSharing: sink.sharesRows,
        while: { !fetch.isOrderExact || missing > 0 }
      ) {
        let rows = try filter.matching($0, predicate)
        missing -= rows.count
        try sink.receive(rows)
      }
    }
    let found = try filter.matchingUnsaved()
    if !found.isEmpty { try sink.receive(found[...]) }
  }
}

extension StoreQuery {
  /// The query with a condition that leaves records out.
  func excluding(_ ids: [ManagedObjectID]) -> StoreQuery {
    guard !ids.isEmpty else { return self }
    var query = self
    let condition = FetchPredicate.not(.membership(.path(.own), in: ids.map(AttributeValue.reference)))
    query.predicate = predicate.map { .and([$0, condition]) } ?? condition
    return query
  }
}
