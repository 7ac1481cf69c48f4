import CoherenceCore

/// The properties of an entry that a merge needs without the entry's values.
struct EntryHeader {
  let id: ManagedObjectID
  let record: OutboxRecord
  /// The name of the record's own entity when the entry was recorded.
  let entityName: String
  let kind: OutboxEntryKind
  let state: OutboxEntryState
  /// Whether the server refused the entry, and so has not applied it.
  let isRejected: Bool
  /// The sequence of the last entry that a request with the entry's idempotency key includes; `nil` before the first
  /// attempt.
  let groupEnd: Int64?

  /// Makes the header of a logged change, whose entry is not made yet. The header has the identifier of the log's
  /// record.
  init(_ change: LogChange, _ save: LoggedSave, _ names: RecordedNames) {
    id = save.id
    record = names.record(change.record)
    entityName = change.entityName
    kind = change.kind
    state = .pending
    isRejected = false
    groupEnd = nil
  }

  /// Whether the server may have applied the entry.
  var isBeingSent: Bool { state == .sending || (groupEnd != nil && !isRejected) }
}

extension EntryHeader {
  /// The slots of an entry's record from which ``init(_:_:)`` makes a header.
  static func slots(in model: ManagedObjectModel) throws -> [Int] {
    let table = OutboxEntryRecord.Properties.table
    let names = [
      table.rootName.name, table.recordKey.name, table.kind.name, table.state.name, table.isRejected.name,
      table.groupEnd.name, table.entityName.name,
    ]
    let entity = try model.entity(named: OutboxEntryRecord.entityName)
    return [Row.identifierSlot] + names.compactMap { entity.attribute(named: $0)?.slot }
  }

  /// Makes the header of a stored entry; `nil` for values without an identifier.
  ///
  /// - Parameter values: The values of ``slots(in:)``.
  init?(_ values: UnsafeMutablePointer<AttributeValue>, _ names: RecordedNames) {
    guard case .reference(let id) = values[0] else { return nil }
    func value<T: AttributeConvertible>(_ index: Int) -> T { T(attributeValue: values[index]) ?? T.attributeDefault }
    self.id = id
    record = names.record(OutboxRecord(rootName: value(1), key: value(2)))
    kind = value(3)
    state = value(4)
    isRejected = value(5)
    groupEnd = value(6)
    entityName = value(7)
  }
}
