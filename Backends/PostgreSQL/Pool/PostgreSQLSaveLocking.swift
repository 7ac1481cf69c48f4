import Synchronization

/// Whether the saves of a store lock all rows that they change before the first change, in one order; see
/// ``PostgreSQLRowLocks``.
///
/// A save changes rows group by group, one group for each set of changed properties, and derived values last. Two saves
/// of the same rows may therefore wait for each other, and the server ends one of them after a second. The locks would
/// cost every save a statement for each table, so that a store has them only after its first such failure, and then for
/// the rest of its life. The locks of records then include the owners of values of members.
final class PostgreSQLSaveLocking: Sendable {
  private let flag = Atomic<Bool>(false)

  /// Whether a save of the store has met a deadlock.
  var isRequired: Bool { flag.load(ordering: .relaxed) }

  /// Has later saves lock their rows first.
  func require() { flag.store(true, ordering: .relaxed) }
}
