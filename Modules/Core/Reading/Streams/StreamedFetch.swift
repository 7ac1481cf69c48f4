/// A fetch whose records are read a batch at a time, with pauses in between.
///
/// The unsaved records that take part are those of the moment when the fetch begins. All reads use the readers
/// of the context, so that the whole fetch sees one state of each store. Used in the context alone.
final class StreamedFetch {
  /// The number of gathered records that one batch has.
  static let batchSize = 1024

  let plan: FetchPlan
  private let context: ManagedObjectContext
  private let unsaved: UnsavedStates
  /// The rows that still come from the only store; `nil` at the end, and for gathered records.
  private var cursor: (any RowCursor)?
  /// The predicate that the store leaves to the context.
  private var residual: PreparedPredicate?
  /// Merges the unsaved records into the rows, and applies the range; `nil` where the rows are the result already.
  private var merge: OverlayMerge<StoredRecords>?
  /// The records of a fetch that batches of rows cannot make, read at the beginning.
  private var gathered: ArraySlice<RecordState> = []
  private var rows: [Row] = []
  /// The number of records passed on, for observers.
  var count = 0

  /// Begins the fetch, and reads the first rows of the stores.
  init(_ plan: FetchPlan, in context: ManagedObjectContext) throws {
    self.plan = plan
    self.context = context
    // The states of all unsaved records are copied now, so that a later change of the context changes nothing in them.
    unsaved = plan.needsOverlay ? try context.unsavedStates(for: plan, isComplete: true) : UnsavedStates()
    guard plan.isMergeable else {
      try gather()
      return
    }
    let unsavedMatches =
      plan.needsOverlay
      ? try RecordFilter(plan, ContextRecords(context: context), unsaved: unsaved).matchingUnsaved() : []
    let query = plan.orderedQuery(replacing: unsaved.replacedCount)
    let fetch = try context.beginFetch(query, from: context.reader(for: plan.stores[0]))
    if !plan.needsOverlay, fetch.isExact {
      cursor = fetch.cursor
      return
    }
    let merge = try OverlayMerge(unsavedMatches, plan, StoredRecords(context: context))
    let predicate = fetch.isPredicateExact ? nil : plan.predicate
    guard fetch.isOrderExact else {
      try sort(fetch.cursor, predicate, with: unsavedMatches)
      return
    }
    cursor = fetch.cursor
    residual = predicate
    self.merge = merge
  }

  /// The temporary identifiers that the unsaved records show: their own, and those of their targets.
  var temporaryIDs: Set<ManagedObjectID> {
    var found: Set<ManagedObjectID> = []
    for record in unsaved.present {
      if record.id.isTemporaryID { found.insert(record.id) }
      for slot in record.entity.referenceSlots {
        if case .reference(let id) = record[slot], id.isTemporaryID { found.insert(id) }
      }
    }
    return found
  }

  /// Whether the record had unsaved changes when the fetch began.
  func isUnsaved(_ id: ManagedObjectID) -> Bool { unsaved.replaces(id) && !unsaved.dependents.contains(id) }

  /// Whether unsaved records take part.
  var hasUnsaved: Bool { !unsaved.isEmpty }

  // MARK: At the beginning

  /// Reads all records at once. The rows of several stores cannot be merged in batches, nor can rows whose predicate or
  /// order depends on unsaved values of other records.
  private func gather() throws {
    var all = RecordSink(sharesRows: false)
    try FetchExecution(plan, in: context, unsaved: unsaved).run(into: &all)
    gathered = all.records[...]
  }

  /// Reads and sorts all records of a store that does not return its rows in the order of the request.
  ///
  /// - Parameter matches: The unsaved records that match the request.
  private func sort(_ cursor: any RowCursor, _ predicate: PreparedPredicate?, with matches: [RecordState]) throws {
    let filter = RecordFilter(plan, StoredRecords(context: context), unsaved: unsaved)
    var all = RecordSink(matches, sharesRows: false)
    try context.forEachBatch(of: cursor, of: plan.query.entity, isSharing: false) {
      all.receive(try filter.matching($0, predicate))
    }
    gathered = plan.range.part(of: try filter.sorted(all.records))
  }

  // MARK: In batches

  /// Passes the next records to a sink: none, one batch, or some.
  ///
  /// - Returns: `false`, having passed nothing, at the end.
  func next<Sink: FetchSink>(into sink: inout Sink) throws -> Bool {
    if Task.isCancelled { throw CoherenceError(.cancelled, "The task was cancelled during a stream.") }
    guard let cursor else {
      guard !gathered.isEmpty else { return false }
      let part = gathered.prefix(Self.batchSize)
      gathered = gathered.dropFirst(Self.batchSize)
      try sink.receive(part)
      return true
    }
    // The range has all its records: the store's further rows are not read.
    guard merge?.isOpen != false else {
      close()
      return false
    }
    rows.removeAll(keepingCapacity: true)
    guard try cursor.next(into: &rows) else {
      self.cursor = nil
      return try finishMerge(into: &sink)
    }
    try plan.query.entity.check(rows)
    guard merge != nil else {
      try sink.receive(rows)
      return true
    }
    // Each batch has a source of its own: a source keeps every related record that it reads, and a source for all
    // batches would grow with the number of rows.
    let filter = RecordFilter(plan, StoredRecords(context: context), unsaved: unsaved)
    try merge?.pass(filter.matching(rows, residual), to: &sink)
    return true
  }

  private func finishMerge<Sink: FetchSink>(into sink: inout Sink) throws -> Bool {
    guard merge?.unsavedRecords.isEmpty == false else { return false }
    try merge?.finish(into: &sink)
    return true
  }

  /// Passes the values of the next records to a sink, without rows where the store can.
  ///
  /// - Returns: `false`, having passed nothing, at the end.
  func next(into sink: any ValueSink) throws -> Bool {
    let previousCount = sink.count
    if merge == nil, let cursor = cursor as? any ValueCursor {
      if Task.isCancelled { throw CoherenceError(.cancelled, "The task was cancelled during a stream.") }
      guard try cursor.next(into: sink) else {
        self.cursor = nil
        return false
      }
    } else {
      var values = RecordValueSink(sink, context)
      while sink.count == previousCount { if try !next(into: &values) { return false } }
    }
    count += sink.count - previousCount
    return true
  }

  /// Ends the fetch before its end.
  func close() {
    cursor?.close()
    cursor = nil
    gathered = []
  }
}
