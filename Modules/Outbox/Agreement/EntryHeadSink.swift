import CoherenceCore

/// Collects the heads of entries.
final class EntryHeadSink: ValueSink {
  let slots: [Int]
  private let names: RecordedNames
  private(set) var heads: [EntryHead] = []
  private(set) var count = 0

  init(_ names: RecordedNames) throws {
    self.names = names
    slots = try EntryHead.slots(in: names.model)
  }

  /// Adds the head of a logged change.
  func add(_ head: EntryHead) { heads.append(head) }

  func take(_ values: UnsafeMutablePointer<AttributeValue>) {
    defer { values.deinitialize(count: slots.count) }
    count += 1
    if let head = EntryHead(values, names) { heads.append(head) }
  }
}
