/// Collects the identifiers of a fetch.
struct IdentifierSink: FetchSink {
  private let context: ManagedObjectContext
  private(set) var ids = IdentifierList()
  var sharesRows: Bool { false }

  init(_ context: ManagedObjectContext) { self.context = context }

  mutating func receive(_ rows: [Row]) { for row in rows { ids.append(row.id) } }

  mutating func receive(_ records: ArraySlice<RecordState>) {
    for record in records {
      if record.id.isTemporaryID { context.exposeTemporaryID(record.id) }
      ids.append(record.id)
    }
  }

  mutating func receiveAll(
    inOrderOf query: StoreQuery, in store: any PersistentStore, from reader: any StoreReader
  ) throws -> Bool {
    guard let reader = reader as? any KeyReading, let keys = try reader.keys(query) else { return false }
    ids.append(keys: keys, of: store.spaces[query.entity])
    return true
  }

  mutating func receiveAll(from cursor: any RowCursor, in context: ManagedObjectContext) throws -> Bool {
    guard let cursor = cursor as? any ValueCursor else { return false }
    let values = IdentifierValues()
    try context.exhaust(cursor) { try cursor.next(into: values) }
    for id in values.ids { ids.append(id) }
    return true
  }
}

/// Collects the identifiers that a cursor passes on without rows.
private final class IdentifierValues: ValueSink {
  let slots = [Row.identifierSlot]
  private(set) var ids = IdentifierList()
  var count: Int { ids.count }

  func take(_ values: UnsafeMutablePointer<AttributeValue>) {
    if case .reference(let id) = values.move() { ids.append(id) }
  }
}
