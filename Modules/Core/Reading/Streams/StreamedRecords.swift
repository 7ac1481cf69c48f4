/// A batch of a stream of objects: the records, and which of them had unsaved changes when the stream began.
struct StreamedRecords: Sendable {
  private(set) var rows: [Row] = []
  /// The records whose rows have unsaved changes.
  private(set) var unsaved: Set<ManagedObjectID> = []
  let prefetches: PrefetchPaths

  init(_ prefetches: PrefetchPaths) { self.prefetches = prefetches }

  var count: Int { rows.count }

  mutating func append(_ row: Row, isUnsaved: Bool) {
    rows.append(row)
    if isUnsaved { unsaved.insert(row.id) }
  }
}

/// Cuts the records of a fetch into batches of one size. Used in the context of the stream alone.
final class StreamedRecordCutter: @unchecked Sendable {
  // Sendable: the confinement of the stream's context admits one thread at a time.
  private let size: Int
  /// The records that the fetch has passed on beyond the last batch.
  private var surplus: ArraySlice<RecordState> = []

  init(size: Int) { self.size = size }

  /// The next batch; `nil` at the end.
  func next(of fetch: StreamedFetch) throws -> StreamedRecords? {
    var sink = RecordSink(Array(surplus), sharesRows: false)
    while sink.records.count < size { if try !fetch.next(into: &sink) { break } }
    let records = sink.records
    guard !records.isEmpty else { return nil }
    surplus = records.dropFirst(size)
    var batch = StreamedRecords(fetch.plan.prefetches)
    for record in records.prefix(size) { batch.append(record.row, isUnsaved: fetch.isUnsaved(record.id)) }
    fetch.count += batch.count
    return batch
  }
}

extension ManagedObjectContext {
  /// The objects of streamed records, in their order. Objects that the context has deleted in the meantime are left out,
  /// and so are inserted records that it has dropped.
  final func objects<Object: ManagedObject>(for records: StreamedRecords, as type: Object.Type) throws -> [Object] {
    try operating {
      try refusePinnedStream()
      processInboxIfUsedDirectly()
      let present = try inOneState {
        let found = try objects(for: records).filter { $0.pending?.kind != .deleted && !$0.flags.contains(.detached) }
        group(found)
        try prefetch(records.prefetches, ofFetched: found)
        return found
      }
      awaken(present)
      return present.downcast(to: Object.self)
    }
  }

  private final func objects(for records: StreamedRecords) throws -> [ManagedObject] {
    var found: [ManagedObject] = []
    guard !records.unsaved.isEmpty else {
      objects(for: shownRows(records.rows), into: &found, .awakensLater)
      return found
    }
    var saved: [Row] = []
    func flush() {
      objects(for: saved, into: &found, .awakensLater)
      saved.removeAll(keepingCapacity: true)
    }
    for row in records.rows {
      guard records.unsaved.contains(row.id) else {
        saved.append(row)
        continue
      }
      flush()
      if let object = try unsavedObject(of: row) { found.append(object) }
    }
    flush()
    return found
  }

  /// The object of a record that had unsaved changes when the stream began. Its row has these changes, and is no saved
  /// row of the record. Returns `nil` for a deleted record, and for an inserted record that the context has dropped.
  private final func unsavedObject(of row: Row) throws -> ManagedObject? {
    let id = current(row.id)
    if let object = storage.registry.object(for: id) { return object }
    if !id.isTemporaryID || inheritedRecord(of: id) != nil {
      guard let present = try loadRow(id) else { return nil }
      return object(for: present)
    }
    return nil
  }
}
