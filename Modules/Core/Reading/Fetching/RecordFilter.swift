/// Filters and orders the records of a plan, if the stores have not done so.
///
/// `Source` decides which state of other records predicate and order read: the context's, where unsaved changes count,
/// or the stores'.
struct RecordFilter<Source: PreloadingSource> {
  private let plan: FetchPlan
  let source: Source
  /// The unsaved records of the plan's hierarchy; empty for a plan without an overlay.
  let unsaved: UnsavedStates

  /// The source for the rows of the stores; `nil` for ``source``. Loaded objects of a context that follows no other context
  /// may be older than the stores. A predicate that the context evaluates finds the records that the store would find.
  private let stored: StoredRecords?

  init(_ plan: FetchPlan, _ source: Source, unsaved: UnsavedStates, stored: StoredRecords? = nil) {
    self.plan = plan
    self.source = source
    self.unsaved = unsaved
    self.stored = stored
  }

  /// Returns the rows that satisfy a predicate, without rows replaced by unsaved records.
  func matching(_ rows: [Row], _ predicate: PreparedPredicate?) throws -> [Row] {
    let rows = unsaved.isEmpty ? rows : rows.filter { !unsaved.replaces($0.id) }
    guard let predicate else { return rows }
    if let stored { return try stored.matching(rows, predicate, of: plan.query.entity) }
    return try source.matching(rows, predicate, of: plan.query.entity)
  }

  /// Returns the unsaved records that satisfy the request, in any order.
  func matchingUnsaved() throws -> [RecordState] {
    let records = Array(unsaved.present.filter { plan.includes($0.entity) })
    guard let predicate = plan.predicate else { return records }
    // No related record of a detached store can be read. A record of such a store reads them only if its own values do
    // not decide.
    let stores = Set(plan.stores.map(\.identifier))
    func isRead(_ record: RecordState) -> Bool { record.id.storeIdentifier.map(stores.contains) ?? true }
    let others = records.filter { !isRead($0) }
    let found = try source.matching(records.filter(isRead), predicate, of: plan.query.entity)
    return found + (try others.filter { try predicate.matches($0, in: source) })
  }

  /// Returns records in the plan's order. Equal records are ordered by key, unsaved records last in order of insertion.
  func sorted(_ records: [RecordState]) throws -> [RecordState] {
    guard let order = plan.order else { return records.sorted { ManagedObjectID.precedes($0.id, $1.id) } }
    for key in plan.query.sortKeys {
      try source.preload(try ResolvedPath(key.path, from: plan.query.entity), of: records)
    }
    let decorated = try records.map { (values: try order.sortValues(of: $0, in: source), record: $0) }
    return decorated.sorted { left, right in
      let comparison = order.order(left.values, right.values)
      return comparison == 0 ? ManagedObjectID.precedes(left.record.id, right.record.id) : comparison < 0
    }.map(\.record)
  }
}
