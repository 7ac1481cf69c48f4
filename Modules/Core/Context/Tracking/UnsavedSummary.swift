/// The counts of a context's unsaved records, and the kinds of changes that the records may include.
///
/// Invariants: ``count`` is the number of tracked records, and the sum of the counts of the hierarchies. A change of a
/// kind whose mark is unset is in no tracked record. A mark may stay set longer than the changes.
///
/// The context's owner changes the summary, under the lock of the unsaved records. The owner reads it without the lock,
/// other threads under the lock.
struct UnsavedSummary {
  /// The number of unsaved records.
  private(set) var count = 0
  /// Whether unsaved records may include deletes.
  private(set) var hasDeletes = false
  /// Whether unsaved records may include deletes without an object.
  private(set) var hasBareDeletes = false
  /// Whether unsaved records may include changes of ordered relationships.
  private(set) var changesLists = false
  /// The records that lists of stores may have as members although they are no members for the context: deleted
  /// records, and records with unsaved references, to which other writers have given other owners since.
  var movedRecords: Set<ManagedObjectID> = []
  /// The number of unsaved records of each hierarchy.
  private var hierarchies: [(root: EntityDescription, count: Int)] = []

  /// The roots of the hierarchies with unsaved records.
  var roots: [EntityDescription] { hierarchies.filter { $0.count > 0 }.map(\.root) }

  /// Whether a hierarchy has unsaved records.
  func hasRecords(of root: EntityDescription) -> Bool { hierarchies.contains { $0.root === root && $0.count > 0 } }

  /// Counts a record that becomes tracked.
  @inline(__always) mutating func add(_ record: PendingRecord) {
    count += 1
    add(1, of: record.entity.root)
  }

  /// Subtracts a record that becomes untracked. Without records, the marks of deletes are unset. The mark of ordered
  /// relationships stays set: it costs a save one visit of its records.
  @inline(__always) mutating func remove(_ record: PendingRecord) {
    count -= 1
    add(-1, of: record.entity.root)
    if !movedRecords.isEmpty { movedRecords.remove(record.id) }
    if count == 0 { (hasDeletes, hasBareDeletes, movedRecords) = (false, false, []) }
  }

  mutating func noteDelete() { hasDeletes = true }
  mutating func noteBareDelete() { (hasDeletes, hasBareDeletes) = (true, true) }
  mutating func noteListChange() { changesLists = true }

  @inline(__always) private mutating func add(_ change: Int, of root: EntityDescription) {
    // A context changes few hierarchies, and mostly one hierarchy in a row.
    for index in hierarchies.indices where hierarchies[index].root === root {
      hierarchies[index].count += change
      return
    }
    hierarchies.append((root, change))
  }

  /// Stops the process of a debug build unless the summary counts exactly the tracked records.
  ///
  /// - Parameter trackedCount: The number of tracked records.
  func checkInvariants(_ trackedCount: Int) {
    assert(count == trackedCount, "A context counts its unsaved records.")
    assert(hierarchies.reduce(0) { $0 + $1.count } == count, "Each unsaved record belongs to one hierarchy.")
  }
}
