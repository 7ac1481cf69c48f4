/// Unsaved records by the value of a slot, for fetches that ask for given values. Without it, a loop that fetches a record by
/// its key and inserts it when it is missing would look at all that it has inserted, each time.
///
/// An entry may be out of date: the predicate is put to each record that a look-up gives.
struct UnsavedIndex {
  private struct Key: Hashable {
    let root: ObjectIdentifier
    let slot: Int
  }

  private struct Entries {
    var records: [AttributeValue: [PendingRecord]] = [:]
    var count = 0

    mutating func enter(_ record: PendingRecord, at slot: Int) {
      // Slots of subentities come behind those of the root.
      guard slot < record.entity.slotCount else { return }
      records[record[slot], default: []].append(record)
      count += 1
    }
  }

  private var entries: [Key: Entries] = [:]
  /// Records whose values are not in the entries yet.
  private var changed: [PendingRecord] = []

  /// The least number of unsaved records for which an index is made.
  static let threshold = 64

  /// Whether the list of changed records has outgrown the context, because no fetch by a value worked it off.
  func isOvergrown(_ recordCount: Int) -> Bool { changed.count > 2 * recordCount + 1_024 }

  mutating func note(_ record: PendingRecord) { changed.append(record) }

  /// The candidates of a hierarchy for one of some values, each once.
  ///
  /// - Parameter all: The unsaved records of the context.
  mutating func records(
    of root: EntityDescription, at slot: Int, among values: [AttributeValue], from all: [PendingRecord]
  ) -> [PendingRecord] {
    enterChanged()
    // An index in which most entries are out of date is made anew when it is asked for.
    for key in Array(entries.keys) where entries[key]!.count > 2 * all.count + 1_024 { entries[key] = nil }
    let key = Key(root: ObjectIdentifier(root), slot: slot)
    if entries[key] == nil { make(key, from: all) }
    var seen: Set<ObjectIdentifier> = []
    return values.flatMap { entries[key]?.records[$0] ?? [] }.filter { seen.insert(ObjectIdentifier($0)).inserted }
  }

  private mutating func enterChanged() {
    for record in changed where record.isCurrent && !record.isIndexed {
      record.isIndexed = true
      let root = ObjectIdentifier(record.entity.root)
      for key in entries.keys where key.root == root { entries[key]?.enter(record, at: key.slot) }
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
