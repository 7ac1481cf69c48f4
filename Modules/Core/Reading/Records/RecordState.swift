/// A record during a fetch: a row, or a record with unsaved changes of the context. The row of a parent's unsaved
/// record has the parent's changes.
struct RecordState {
  /// The source of the values.
  enum Values {
    case row(Row)
    case pending(PendingRecord)
  }
  let id: ManagedObjectID
  let entity: EntityDescription
  let values: Values

  init(_ row: Row) {
    id = row.id
    entity = row.entity
    values = .row(row)
  }

  init(_ record: PendingRecord) {
    id = record.id
    entity = record.entity
    values = .pending(record)
  }

  subscript(slot: Int) -> AttributeValue {
    switch values {
    case .row(let row): row[slot]
    case .pending(let record): record[slot]
    }
  }

  /// The values as a row.
  var row: Row {
    switch values {
    case .row(let row): row
    case .pending(let record): record.snapshot
    }
  }
}

extension [RecordState] {
  /// The identifiers of the targets of a to-one relationship, each once.
  func targets(of relationship: RelationshipDescription) -> [ManagedObjectID] {
    guard let slot = relationship.slot else { return [] }
    var found: Set<ManagedObjectID> = []
    for record in self where record.entity.isKind(of: relationship.entity) {
      if case .reference(let id) = record[slot] { found.insert(id) }
    }
    return [ManagedObjectID](found)
  }
}
