/// An index of unsaved records by the value of a slot, for fetches whose predicate requires given values. Without the
/// index, a loop that fetches a record by its key and inserts missing records would visit all inserted records at each
/// step.
///
/// An entry may be out of date: the caller evaluates the predicate for each record of a look-up.
struct UnsavedIndex {
  private struct Key: Hashable {
    let root: ObjectIdentifier
    let slot: Int
  }

  /// The records by the value of one slot.
  private struct Entries {
    var records: [AttributeValue: [PendingRecord]] = [:]
    /// The number of entries, those out of date included.
    var count = 0

    mutating func enter(_ record: PendingRecord, at slot: Int) {
      // The slots of subentities follow the slots of the root: a record of another subentity may have fewer slots.
      guard slot < record.entity.slotCount else { return }
      records[record[slot], default: []].append(record)
      count += 1
    }
  }

  private var entries: [Key: Entries] = [:]
  /// The records whose present values are not indexed yet.
  private var changed: [PendingRecord] = []

  /// The number of unsaved records above which an index is made.
  static let threshold = 64

  /// Whether the list of changed records is much longer than the context's unsaved records, because no fetch has used
  /// the index for long.
  func isOvergrown(_ recordCount: Int) -> Bool { changed.count > 2 * recordCount + 1_024 }

  /// Has the next look-up enter a new or changed record.
  mutating func note(_ record: PendingRecord) { changed.append(record) }

  /// Returns the records of a hierarchy with one of some values in a slot, each record once. Some records may have
  /// another value by now.
  ///
  /// - Parameter all: The unsaved records of the context.
  mutating func records(
    of root: EntityDescription, at slot: Int, among values: [AttributeValue], from all: [PendingRecord]
  ) -> [PendingRecord] {
    enterChanged()
    // If most entries of an index are out of date, it is dropped, and the next look-up makes it anew.
    for key in Array(entries.keys) where entries[key]!.count > 2 * all.count + 1_024 { entries[key] = nil }
    let key = Key(root: ObjectIdentifier(root), slot: slot)
    if entries[key] == nil { make(key, from: all) }
    var seen: Set<ObjectIdentifier> = []
    return values.flatMap { entries[key]?.records[$0] ?? [] }.filter { seen.insert(ObjectIdentifier($0)).inserted }
  }

  private mutating func enterChanged() {
    guard !changed.isEmpty else { return }
    // An iteration over the dictionary itself would hold it, and the first entry would copy every index.
    let keys = Array(entries.keys)
    for record in changed where record.isTracked && !record.isIndexed {
      record.isIndexed = true
      let root = ObjectIdentifier(record.entity.root)
      for key in keys where key.root == root { entries[key]?.enter(record, at: key.slot) }
    }
    changed = []
  }

  private mutating func make(_ key: Key, from all: [PendingRecord]) {
    var made = Entries()
    for record in all where ObjectIdentifier(record.entity.root) == key.root {
      made.enter(record, at: key.slot)
      record.isIndexed = true
    }
    entries[key] = made
  }
}
