import CoherenceCore

/// Collects the headers and the payloads of entries.
final class EntryPayloadSink: ValueSink {
  struct Entry {
    let header: EntryHeader
    let payload: EntryBytes
  }

  let slots: [Int]
  private let names: RecordedNames
  private(set) var entries: [Entry] = []
  private(set) var count = 0

  init(_ names: RecordedNames) throws {
    self.names = names
    let entity = try names.model.entity(named: OutboxEntryRecord.entityName)
    let payload = entity.attribute(named: OutboxEntryRecord.Properties.table.payload.name)?.slot
    slots = try EntryHeader.slots(in: names.model) + (payload.map { [$0] } ?? [])
  }

  /// Adds a logged change.
  func add(_ header: EntryHeader, payload: EntryBytes) { entries.append(Entry(header: header, payload: payload)) }

  func take(_ values: UnsafeMutablePointer<AttributeValue>) {
    defer { values.deinitialize(count: slots.count) }
    count += 1
    guard case .data(let payload) = values[slots.count - 1], let header = EntryHeader(values, names) else { return }
    entries.append(Entry(header: header, payload: EntryBytes(payload)))
  }
}
