/// The values of a slot that a predicate requires: a record must have one of them.
struct WantedValues {
  let slot: Int
  let values: [AttributeValue]
}

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

  /// Returns the records of a hierarchy that have one of the wanted values in a slot, each record once. Some records
  /// may have another value by now.
  ///
  /// Of several slots, the slot with the fewest records decides: a part of a key may have the same value in all
  /// records.
  ///
  /// - Parameters:
  ///   - wanted: The wanted values of at least one slot.
  ///   - count: The number of the context's unsaved records.
  ///   - all: Returns these records. Called only for a slot without an index.
  mutating func records(
    of root: EntityDescription, with wanted: [WantedValues], among count: Int, from all: () -> [PendingRecord]
  ) -> [PendingRecord] {
    enterChanged()
    // If most entries of an index are out of date, it is dropped, and the next look-up makes it anew.
    for key in Array(entries.keys) where entries[key]!.count > 2 * count + 1_024 { entries[key] = nil }
    var fewest: [[PendingRecord]] = []
    var fewestCount = Int.max
    for slot in wanted {
      let key = Key(root: ObjectIdentifier(root), slot: slot.slot)
      if entries[key] == nil { make(key, from: all()) }
      let found = slot.values.compactMap { entries[key]?.records[$0] }
      let foundCount = found.reduce(0) { $0 + $1.count }
      if foundCount < fewestCount { (fewest, fewestCount) = (found, foundCount) }
    }
    var seen: Set<ObjectIdentifier> = []
    return fewest.joined().filter { seen.insert(ObjectIdentifier($0)).inserted }
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
