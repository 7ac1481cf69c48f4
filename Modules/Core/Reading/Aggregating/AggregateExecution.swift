/// Executes an aggregate plan in one of three ways: in one store, as a combination of partial groups, or by a scan of
/// the records.
struct AggregateExecution {
  private let plan: AggregatePlan
  private let context: ManagedObjectContext

  init(_ plan: AggregatePlan, in context: ManagedObjectContext) {
    self.plan = plan
    self.context = context
  }

  /// The greatest number of records with unsaved changes excluded from a store's groups. With more records, the context
  /// scans.
  private static let greatestExceptionCount = 1_000

  /// Returns the rows of the plan.
  func run() throws -> AggregateRows {
    let groups = try groupsOfStore() ?? StoreGroups(values: try combinedGroups() ?? scan())
    let rows = try AggregateRowBuilder(plan).rows(of: groups)
    guard plan.fetch.needsOverlay else { return rows }
    for case .reference(let id) in rows.values where id.isTemporaryID { context.exposeTemporaryID(id) }
    return rows
  }

  /// The groups as the only store computes them; `nil` for several stores, for unsaved changes, and if the store cannot
  /// compute them.
  private func groupsOfStore() throws -> StoreGroups? {
    guard !plan.fetch.needsOverlay, !plan.hasRangeOfRecords, plan.fetch.stores.count == 1 else { return nil }
    return try context.computeGroups(plan.query, by: context.reader(for: plan.fetch.stores[0]))
  }

  /// The combined groups of several stores, and of records with unsaved changes; `nil` if a store cannot compute its
  /// part.
  private func combinedGroups() throws -> [AttributeValue]? {
    let fetch = plan.fetch
    guard !fetch.dependsOnUnsaved, !plan.hasRangeOfRecords, plan.groups.areCombinable,
      fetch.needsOverlay || fetch.stores.count > 1
    else { return nil }
    // By the index, the identifiers to exclude are unknown: all records with the target would be read instead of summed.
    let unsaved =
      fetch.needsOverlay ? try context.unsavedStates(for: fetch, findsByTarget: false) : UnsavedStates()
    guard let replacedIDs = unsaved.replacedIDs, replacedIDs.count <= Self.greatestExceptionCount else { return nil }
    let query = plan.partialQuery(except: replacedIDs)
    let table = GroupTable(plan.groups)
    for store in fetch.stores {
      guard let groups = try context.computeGroups(query, by: context.reader(for: store)),
        !plan.groups.haveRoundedSum(groups.values)
      else { return nil }
      table.add(parts: groups.values)
    }
    let filter = RecordFilter(fetch, ContextRecords(context: context), unsaved: unsaved)
    for record in try filter.matchingUnsaved() { try table.add(record, in: filter.source) }
    return table.values
  }

  /// The groups computed from the records.
  private func scan() throws -> [AttributeValue] {
    if plan.fetch.needsOverlay {
      let records = ContextRecords(context: context)
      return try scan(AggregateSink(plan, records))
    }
    return try scan(AggregateSink(plan, StoredRecords(context: context)))
  }

  /// The groups computed from the records that a sink receives.
  private func scan<Source>(_ sink: AggregateSink<Source>) throws -> [AttributeValue] {
    var sink = sink
    if plan.hasRangeOfRecords {
      try FetchExecution(plan.fetch, in: context).run(into: &sink)
    } else {
      try FetchExecution(plan.fetch.unordered(), in: context).scan(into: &sink)
    }
    return sink.table.values
  }
}

/// Adds records to groups.
private struct AggregateSink<Source: PreloadingSource>: FetchSink {
  let table: GroupTable
  private let source: Source
  /// The paths to the values of other records.
  private let paths: [ResolvedPath]
  var sharesRows: Bool { false }

  init(_ plan: AggregatePlan, _ source: Source) {
    table = GroupTable(plan.groups)
    self.source = source
    paths = plan.preloadedPaths
  }

  mutating func receive(_ rows: [Row]) throws {
    guard paths.isEmpty else { return try add(rows.map { RecordState($0) }) }
    for row in rows { try table.add(RecordState(row), in: source) }
  }

  mutating func receive(_ records: ArraySlice<RecordState>) throws { try add(Array(records)) }

  private func add(_ records: [RecordState]) throws {
    for path in paths { try source.preload(path, of: records) }
    for record in records { try table.add(record, in: source) }
  }
}
