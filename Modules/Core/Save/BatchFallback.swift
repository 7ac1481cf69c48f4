/// Batch requests on a store that cannot do them: reads the rows concerned and saves their new state, with the meaning
/// of ``BatchExecuting``.
struct BatchFallback {
  let context: ManagedObjectContext
  let store: any PersistentStore

  func update(_ query: StoreQuery, values: [Int: AttributeValue]) throws -> [ManagedObjectID] {
    try repeating {
      let changes = try rows(of: query).map { row in change(row, .update, setting: values) }
      try save(changes)
      return changes.map(\.id)
    }
  }

  func delete(_ query: StoreQuery) throws -> BatchDeleteOutcome {
    try repeating {
      let deletes = try rows(of: query).map { change($0, .delete) }
      let updates = try referrers(to: deletes)
      try save(deletes + updates)
      return BatchDeleteOutcome(deleted: deletes.map(\.id), updated: updates.map(\.id))
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
  private func referrers(to deletes: [RecordChange]) throws -> [RecordChange] {
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
    return cleared.values.map { change($0.row, .update, setting: $0.values) }
  }

  // MARK: Writing

  private func change(
    _ row: Row, _ kind: RecordChange.Kind, setting changed: [Int: AttributeValue] = [:]
  ) -> RecordChange {
    let record = PendingRecord(changing: row)
    for (slot, value) in changed { record.replace(value, at: slot) }
    let written = changed.isEmpty ? nil : record.sealed(as: row.id, version: RecordChange.version(after: row))
    return RecordChange(record, id: row.id, kind: kind, base: row, row: written, changed: SlotSet(changed.keys))
  }

  private func save(_ changes: [RecordChange]) throws {
    guard !changes.isEmpty else { return }
    var unit = UnitOfWork()
    unit.changes = changes.sorted { $0.id.key < $1.id.key }
    var gatherer = LinkGatherer(store: store, permanentID: { $0 })
    try gatherer.gather(unit.changes)
    unit.links = gatherer.links
    context.lease.endForSave()
    try store.save(SavePlan(unit).request)
  }

  /// A record that somebody else changes between the reading and the writing is read again.
  private func repeating<T>(_ body: () throws -> T) throws -> T {
    for _ in 0..<16 {
      do { return try body() } catch is StoreConflict.Failure { context.lease.endForSave() }
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
