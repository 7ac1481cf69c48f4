/// Executes batch requests in Core, with the same result as a store: reads the matching rows and saves their new
/// values.
///
/// Used for stores without ``BatchExecuting``, and for requests whose changes participants or derived attributes need
/// row by row.
struct BatchFallback {
  let context: ManagedObjectContext
  let store: any PersistentStore
  /// The participants of the request; `nil` when no participant observes its records.
  let recording: SaveRecording?
  /// The records that participants added.
  fileprivate(set) var added = ParticipantRecords()
  /// The rows whose derived values the request changed.
  var derived: [Row] = []

  init(_ context: ManagedObjectContext, _ store: any PersistentStore, _ recording: SaveRecording?) {
    self.context = context
    self.store = store
    self.recording = recording
  }

  /// Changes the records that satisfy a query.
  ///
  /// - Parameter values: Returns the new values of a record.
  mutating func update(
    _ query: StoreQuery, values: (Row) throws -> [Int: AttributeValue]
  ) throws -> [ManagedObjectID] {
    try repeating { fallback in
      let edits = try fallback.rows(of: query).map { Edit(of: $0, setting: try values($0)) }
      try fallback.save(edits)
      return edits.map(\.row.id)
    }
  }

  /// Sets values in the first rows of a query, in place of a store without ``RecordClaiming``. After a lost race, the
  /// next attempt reads the first rows anew.
  mutating func claim(_ query: StoreQuery, values: [Int: AttributeValue]) throws -> [ManagedObjectID] {
    try repeating(upTo: 64) { fallback in
      let edits = try fallback.context.firstRows(of: query, in: fallback.store).map { Edit(of: $0, setting: values) }
      try fallback.save(edits)
      return edits.map(\.row.id)
    }
  }

  /// Deletes the records that satisfy a query, and clears the references to them.
  mutating func delete(_ query: StoreQuery) throws -> BatchDeleteOutcome {
    try repeating { fallback in
      let deletes = try fallback.rows(of: query).map { Edit(deleting: $0) }
      let updates = try fallback.referrers(to: deletes.map(\.row))
      try fallback.save(deletes + updates)
      return BatchDeleteOutcome(deleted: deletes.map(\.row.id), updated: updates.map(\.row.id))
    }
  }

  // MARK: Reading

  /// Reads the rows that satisfy a query exactly; Core evaluates the condition that the store leaves to it.
  func rows(of query: StoreQuery) throws -> [Row] {
    let predicate = try query.predicate.map { try PreparedPredicate($0, for: query.entity) }
    var result: [Row] = []
    try context.forEachRow(query, prepared: predicate, in: store) { result += $0 }
    return result
  }

  /// The changes that clear the references of other records to deleted records, with their positions in the lists of
  /// the deleted records.
  private func referrers(to deletes: [Row]) throws -> [Edit] {
    guard let root = deletes.first?.entity.root else { return [] }
    let deleted = Set(deletes.map(\.id))
    var cleared: [ManagedObjectID: (row: Row, values: [Int: AttributeValue])] = [:]
    for relationship in store.environment.entities.flatMap(\.relationships)
    where relationship.slot != nil && relationship.destination.root === root {
      let references = deletes.map { AttributeValue.reference($0.id) }
      let query = StoreQuery(
        entity: relationship.entity,
        predicate: .membership(.path(PropertyPath(names: [relationship.name])), in: references))
      for row in try rows(of: query) where !deleted.contains(row.id) {
        let nulls = relationship.slotsWithPosition.map { ($0, AttributeValue.null) }
        cleared[row.id, default: (row, [:])].values.merge(nulls) { _, new in new }
      }
    }
    return cleared.values.map { Edit(of: $0.row, setting: $0.values) }
  }

  // MARK: Writing

  /// The change of one row, in the form that a ``UnitOfWork`` needs.
  struct Edit {
    let row: Row
    let record: PendingRecord
    let change: RecordChange

    init(of row: Row, setting values: [Int: AttributeValue]) {
      self.row = row
      record = PendingRecord(changing: row)
      for (slot, value) in values { record.replace(value, at: slot) }
      // A record that already has the value is written too, as a store does.
      change = RecordChange(
        record, kind: .updated, base: row,
        row: record.sealed(as: row.id, version: RecordChange.version(after: row)), changed: SlotSet(values.keys))
    }

    /// - Parameter row: A fresh record, with its permanent identifier.
    init(inserting row: Row) {
      self.row = row
      record = PendingRecord(inserting: row.id, row)
      change = RecordChange(record)
    }

    /// - Parameters:
    ///   - row: The row with its new values, at its next version.
    ///   - slots: The slots that differ from the base.
    init(of base: Row, writing row: Row, slots: SlotSet) {
      self.row = base
      record = PendingRecord(changing: base)
      for slot in slots { record.replace(row[slot], at: slot) }
      change = RecordChange(
        record, kind: .updated, base: base, row: record.sealed(as: base.id, version: row.version), changed: slots)
    }

    init(deleting row: Row) {
      self.row = row
      record = PendingRecord(changing: row)
      record.kind = .deleted
      change = RecordChange(record)
    }
  }

  /// Saves edits with the records that participants add, without validation.
  mutating func save(_ edits: [Edit]) throws {
    guard !edits.isEmpty else { return }
    var unit = UnitOfWork(of: RecordKeeper(edits.map(\.record)))
    for edit in edits.sorted(by: { $0.row.key < $1.row.key }) { unit.append(edit.change) }
    var gatherer = LinkGatherer(store: store, context: context, permanentIDs: PermanentIDs())
    // A batch delete applies no delete rules, `deny` among them.
    gatherer.obeysDeny = false
    unit.links = try gatherer.links(of: unit)
    context.lease.endForSave()
    if let recording { added = try recording.records(addedTo: unit, in: store, comparesValues: true) }
    var saving = try DerivingSave(unit.rows.adding(added), of: context, in: store)
    // Batch requests do not validate, on any store.
    saving.request.memberCounts = []
    try PersistentStoreCoordinator.checkChannels(added.signals)
    saving.request.signals = added.signals
    derived = try saving.run(in: store)
    store.sendSignals(of: saving.request)
  }

  /// Repeats a batch request while another writer changes a record between the read and the save. The last attempt keeps
  /// other writers out, if the store can.
  ///
  /// - Throws: ``ErrorCode/versionConflict``, retryable, after the last attempt in a store without ``WriterExcluding``.
  mutating func repeating<T>(upTo attempts: Int = 16, _ body: (inout BatchFallback) throws -> T) throws -> T {
    let excludes = store is any WriterExcluding
    for attempt in 1...(excludes ? min(attempts, Self.attemptsBesideWriters) : attempts) {
      if let result = try attempting(body) { return result }
      SaveReservations.pause(after: attempt)
    }
    if excludes, let result = try context.excludingWriters(of: [store], { try attempting(body) }) { return result }
    throw CoherenceError(
      .versionConflict, "Other writers change the records faster than the batch request can save them; try again.",
      isRetryable: true)
  }

  /// The number of attempts while other writers save. A further attempt would probably fail too.
  private static let attemptsBesideWriters = 4

  /// - Returns: `nil` when another writer changed a record between the read and the save.
  private mutating func attempting<T>(_ body: (inout BatchFallback) throws -> T) throws -> T? {
    // A repeated attempt may find nothing to save, and must not return what the attempt before added.
    added = ParticipantRecords()
    derived = []
    do {
      return try body(&self)
    } catch is StoreConflict.Failure {
      // The next attempt must read the rows of the other writer, not those of this attempt's readers.
      context.lease.endForSave()
      return nil
    }
  }
}

extension RelationshipDescription {
  /// The slots of a to-one relationship: the target, and the record's position among the target's members.
  var slotsWithPosition: [Int] {
    guard let inverse, case .inverseColumn(_, let position?) = inverse.storage else { return slot.map { [$0] } ?? [] }
    return [slot, position].compactMap { $0 }
  }
}
