/// Batch requests on a store without ``BatchExecuting``: reads the rows concerned and saves their new state, with the
/// same meaning.
struct BatchFallback {
  let context: ManagedObjectContext
  let store: any PersistentStore

  func update(_ query: StoreQuery, values: [Int: AttributeValue]) throws -> [ManagedObjectID] {
    try repeating {
      let edits = try rows(of: query).map { Edit(of: $0, setting: values) }
      try save(edits)
      return edits.map(\.row.id)
    }
  }

  func delete(_ query: StoreQuery) throws -> BatchDeleteOutcome {
    try repeating {
      let deletes = try rows(of: query).map { Edit(deleting: $0) }
      let updates = try referrers(to: deletes.map(\.row))
      try save(deletes + updates)
      return BatchDeleteOutcome(deleted: deletes.map(\.row.id), updated: updates.map(\.row.id))
    }
  }

  // MARK: Reading

  private func rows(of query: StoreQuery) throws -> [Row] {
    let predicate = try query.predicate.map { try PreparedPredicate($0, for: query.entity) }
    var result: [Row] = []
    try context.forEachRow(query, prepared: predicate, in: store) { result += $0 }
    return result
  }

  /// The changes that clear what other records refer to deleted ones by, with their places there.
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

  /// A row to change or to delete, with the record that says so.
  private struct Edit {
    let row: Row
    let record: PendingRecord
    let change: RecordChange

    init(of row: Row, setting values: [Int: AttributeValue]) {
      self.row = row
      record = PendingRecord(changing: row)
      for (slot, value) in values { record.replace(value, at: slot) }
      // A record with the value already in place is written too.
      change = RecordChange(
        record, kind: .updated, base: row,
        row: record.sealed(as: row.id, version: RecordChange.version(after: row)), changed: SlotSet(values.keys))
    }

    init(deleting row: Row) {
      self.row = row
      record = PendingRecord(changing: row)
      record.kind = .deleted
      change = RecordChange(record)
    }
  }

  private func save(_ edits: [Edit]) throws {
    guard !edits.isEmpty else { return }
    var unit = UnitOfWork(of: RecordKeeper(edits.map(\.record)))
    for edit in edits.sorted(by: { $0.row.key < $1.row.key }) { unit.append(edit.change) }
    var gatherer = LinkGatherer(store: store, context: context, permanentIDs: PermanentIDs())
    gatherer.obeysDeny = false
    unit.links = try gatherer.links(of: unit)
    context.lease.endForSave()
    var request = SavePlan(unit.rows).request
    // Batch requests do not validate, on any store.
    request.memberCounts = []
    try store.save(request)
  }

  /// A record that another writer changes between the reading and the writing is read again.
  private func repeating<T>(_ body: () throws -> T) throws -> T {
    for attempt in 1...16 {
      do {
        return try body()
      } catch is StoreConflict.Failure {
        context.lease.endForSave()
        SaveTurns.pause(after: attempt)
      }
    }
    throw CoherenceError(
      .versionConflict, "The records are changed by others faster than a batch request can follow; try again.",
      isRetryable: true)
  }
}

extension RelationshipDescription {
  /// The slots of a to-one relationship: the target, and the record's place among the target's members.
  fileprivate var slotsWithPosition: [Int] {
    guard let inverse, case .inverseColumn(_, let position?) = inverse.storage else { return slot.map { [$0] } ?? [] }
    return [slot, position].compactMap { $0 }
  }
}
