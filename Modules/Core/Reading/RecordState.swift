/// A record of a fetch: a row, or a record with unsaved changes of the context. A row of a parent's unsaved record has
/// the parent's changes.
struct RecordState {
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

/// The records of a context with its unsaved changes and those of its parents, for the evaluator.
struct ContextRecords: RecordSource {
  let context: ManagedObjectContext

  func id(of record: RecordState) -> ManagedObjectID { record.id }
  func entity(of record: RecordState) -> EntityDescription { record.entity }
  func value(_ slot: Int, of record: RecordState) throws -> AttributeValue { record[slot] }

  func target(of relationship: RelationshipDescription, from record: RecordState) throws -> RecordState? {
    guard let slot = relationship.slot, case .reference(let id) = record[slot] else { return nil }
    return try state(of: id)
  }

  func members(of relationship: RelationshipDescription, from record: RecordState) throws -> [RecordState] {
    let owner = try context.fault(for: record.id, of: record.entity)
    // An ordered list needs its owner's row and would read it again.
    if case .row(let row) = record.values, owner.isFault { owner.fill(with: row) }
    let ids = try owner.memberIDs(of: relationship)
    let unknown = ids.filter { id in
      context.storage.record(for: id) == nil && context.storage.registry.object(for: id)?.row == nil
    }
    let loaded = Dictionary(try context.loadRows(unknown).map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    return try ids.compactMap { id in try loaded[id].map(RecordState.init) ?? state(of: id) }
  }

  /// Reads the records at the end of a path together, so that the context knows them.
  func preload(_ path: [RelationshipDescription], of records: some Sequence<RecordState>) throws {
    var current = Array(records)
    for relationship in path {
      let targets = current.targets(of: relationship)
      let unknown = targets.filter { id in
        context.storage.record(for: id) == nil && context.storage.registry.object(for: id)?.row == nil
      }
      _ = try context.loadRows(unknown)
      current = try targets.compactMap(state(of:))
    }
  }

  /// The state of a record; `nil` when it is deleted or missing.
  func state(of id: ManagedObjectID) throws -> RecordState? {
    if let record = context.storage.record(for: id) { return record.kind == .deleted ? nil : RecordState(record) }
    if let row = context.storage.registry.object(for: id)?.row { return RecordState(row) }
    return try context.loadRow(id).map { RecordState($0) }
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
