import CoherenceCore
import HashTreeCollections

extension InMemoryStore: BatchCalculating {
  func batchUpdate(
    _ query: StoreQuery, values: [Int: AttributeValue], arithmetic: [Int: SlotArithmetic]
  ) throws -> [ManagedObjectID]? {
    try writableContent().change { state in
      var transaction = InMemoryTransaction(state)
      let rows = try state.rows(for: query)
      for row in rows {
        var values = values
        for (slot, arithmetic) in arithmetic {
          guard let result = arithmetic.result(for: row[arithmetic.source]) else {
            throw SlotArithmetic.overflow(at: slot, of: query.entity)
          }
          values[slot] = result
        }
        try transaction.revise(row, values: values)
      }
      state = try transaction.finished()
      return rows.map(\.id)
    }
  }

  func batchDelete(_ query: StoreQuery) throws -> BatchDeleteOutcome? {
    try writableContent().change { state in
      var transaction = InMemoryTransaction(state)
      let rows = try state.rows(for: query)
      for row in rows { try transaction.deleteWithLinks(row) }
      let updated = try transaction.clearReferences(to: rows)
      state = try transaction.finished()
      return BatchDeleteOutcome(deleted: rows.map(\.id), updated: updated)
    }
  }
}

extension InMemoryTransaction {
  /// Writes some slots of a row, and the next version.
  fileprivate mutating func revise(_ row: Row, values: [Int: AttributeValue]) throws {
    try setRow(row.revised(setting: values), key: row.key, of: row.entity)
  }

  /// Deletes a row, and the links of its record on both sides.
  fileprivate mutating func deleteWithLinks(_ row: Row) throws {
    try setRow(nil, key: row.key, of: row.entity)
    for table in base.schema.linkTables {
      let links = try next.links(of: table)
      if table.sourceRoot === row.entity.root { next.remove(links.links(of: row.key, fromSource: true), from: table) }
      if table.targetRoot === row.entity.root { next.remove(links.links(of: row.key, fromSource: false), from: table) }
    }
  }

  /// Clears the references of remaining records to deleted records, with their positions, and raises the versions of
  /// the remaining records.
  ///
  /// - Returns: The changed records, each once.
  fileprivate mutating func clearReferences(to deleted: [Row]) throws -> [ManagedObjectID] {
    var cleared: [ManagedObjectID: (row: Row, values: [Int: AttributeValue])] = [:]
    for target in deleted {
      for relationship in base.schema.references(to: target.entity.root) {
        for source in base.referrers(to: target.key, by: relationship) {
          // The source may be deleted too.
          guard let row = next.row(source, of: relationship.entity.root) else { continue }
          let nulls = relationship.slotsToClear.map { ($0, AttributeValue.null) }
          cleared[row.id, default: (row, [:])].values.merge(nulls) { _, new in new }
        }
      }
    }
    for (row, values) in cleared.values { try revise(row, values: values) }
    return cleared.keys.sorted { ($0.entity.name, $0.key) < ($1.entity.name, $1.key) }
  }
}

extension RelationshipDescription {
  /// The slots of a to-one relationship: the target, and the record's position among the target's members.
  fileprivate var slotsToClear: [Int] {
    guard let inverse, case .inverseColumn(_, let position?) = inverse.storage else { return slot.map { [$0] } ?? [] }
    return [slot, position].compactMap { $0 }
  }
}
