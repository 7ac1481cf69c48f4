import CoherenceCore

/// Collects the headers of entries.
final class EntryHeaderSink: ValueSink {
  let slots: [Int]
  private let names: RecordedNames
  private(set) var headers: [EntryHeader] = []
  private(set) var count = 0

  init(_ names: RecordedNames) throws {
    self.names = names
    slots = try EntryHeader.slots(in: names.model)
  }

  /// Adds the header of a logged change.
  func add(_ header: EntryHeader) { headers.append(header) }

  func take(_ values: UnsafeMutablePointer<AttributeValue>) {
    defer { values.deinitialize(count: slots.count) }
    count += 1
    if let header = EntryHeader(values, names) { headers.append(header) }
  }
}
