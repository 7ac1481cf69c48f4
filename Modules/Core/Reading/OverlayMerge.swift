/// Merges unsaved records into the rows that a store hands out in order, as far as the request's range reaches.
struct OverlayMerge {
  private typealias Entry = (values: [AttributeValue], state: RecordState)
  private let order: PreparedOrder?
  private let source: ContextRecords
  private var unsaved: ArraySlice<Entry>
  private var remainder: WantedRange
  private(set) var states: [RecordState] = []

  /// - Parameter unsaved: Those that match the request, in any order.
  init(_ unsaved: [RecordState], into plan: FetchPlan, source: ContextRecords) throws {
    let order = plan.order
    self.order = order
    self.source = source
    remainder = plan.wantedRange
    let entries: [Entry] = try unsaved.map { (try order?.sortValues(of: $0, in: source) ?? [], $0) }
    self.unsaved = entries.sorted { Self.precedes($0, $1, order) }[...]
  }

  /// Whether more records are wanted.
  var isOpen: Bool { remainder.isOpen }

  /// Takes the next row of the store, after the unsaved records that come before it.
  mutating func take(_ row: Row) throws {
    let state = RecordState(row)
    if !unsaved.isEmpty {
      let entry: Entry = (try order?.sortValues(of: state, in: source) ?? [], state)
      while let next = unsaved.first, Self.precedes(next, entry, order) { append(unsaved.removeFirst().state) }
    }
    append(state)
  }

  /// Takes the records after the last row.
  mutating func finish() {
    for entry in unsaved { append(entry.state) }
    unsaved = []
  }

  private mutating func append(_ state: RecordState) {
    if remainder.takeOne() { states.append(state) }
  }

  private static func precedes(_ left: Entry, _ right: Entry, _ order: PreparedOrder?) -> Bool {
    let comparison = order?.order(left.values, right.values) ?? 0
    return comparison == 0 ? ManagedObjectID.precedes(left.state.id, right.state.id) : comparison < 0
  }
}

extension FetchPlan {
  /// Whether unsaved records can be merged into what the store hands out: what the order looks at is in the rows.
  var isMergeable: Bool {
    stores.count == 1 && !dependsOnUnsaved && order?.dependencies.relationships.isEmpty != false
  }

  /// The query for rows to merge with: some of the rows are taken out, so that as many more may be needed.
  func mergeQuery(shadowing count: Int) -> StoreQuery {
    var query = query
    query.offset = 0
    query.limit = self.query.limit.flatMap { limit in
      let (before, isBeyond) = self.query.offset.addingReportingOverflow(count)
      let (sum, isTooLarge) = limit.addingReportingOverflow(before)
      return isBeyond || isTooLarge ? nil : sum
    }
    return query
  }
}
