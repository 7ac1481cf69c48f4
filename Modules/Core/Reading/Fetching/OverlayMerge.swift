/// Merges unsaved records into the ordered rows of a store, up to the end of the request's range.
struct OverlayMerge<Source: RecordSource> where Source.Record == RecordState {
  private typealias Entry = (values: [AttributeValue], record: RecordState)
  private let order: PreparedOrder?
  private let source: Source
  private var unsaved: ArraySlice<Entry>
  private var range: FetchRange

  /// - Parameter unsaved: The unsaved records that match the request, in any order.
  init(_ unsaved: [RecordState], _ plan: FetchPlan, _ source: Source) throws {
    let order = plan.order
    self.order = order
    self.source = source
    range = plan.range
    let entries: [Entry] = try unsaved.map { (try order?.sortValues(of: $0, in: source) ?? [], $0) }
    self.unsaved = entries.sorted { Self.precedes($0, $1, order) }[...]
  }

  /// The remaining unsaved records.
  var unsavedRecords: [RecordState] { unsaved.map(\.record) }

  /// Whether the range admits more records.
  var isOpen: Bool { range.isOpen }

  /// Passes the store's next rows to a sink, each row after the unsaved records that precede it.
  mutating func pass<Sink: FetchSink>(_ rows: [Row], to sink: inout Sink) throws {
    guard !unsaved.isEmpty else { return try sink.receive(range.takeNext(rows)) }
    var records: [RecordState] = []
    records.reserveCapacity(rows.count)
    for row in rows {
      let record = RecordState(row)
      if !unsaved.isEmpty {
        let entry: Entry = (try order?.sortValues(of: record, in: source) ?? [], record)
        while let next = unsaved.first, Self.precedes(next, entry, order) {
          append(unsaved.removeFirst().record, to: &records)
        }
      }
      append(record, to: &records)
    }
    try sink.receive(records[...])
  }

  /// Passes the unsaved records after the last row to a sink.
  mutating func finish<Sink: FetchSink>(into sink: inout Sink) throws {
    guard !unsaved.isEmpty else { return }
    var records: [RecordState] = []
    for entry in unsaved { append(entry.record, to: &records) }
    unsaved = []
    try sink.receive(records[...])
  }

  private mutating func append(_ record: RecordState, to records: inout [RecordState]) {
    if range.includesNext() { records.append(record) }
  }

  private static func precedes(_ left: Entry, _ right: Entry, _ order: PreparedOrder?) -> Bool {
    let comparison = order?.order(left.values, right.values) ?? 0
    return comparison == 0 ? ManagedObjectID.precedes(left.record.id, right.record.id) : comparison < 0
  }
}
