import Synchronization

/// The links that a save added and removed, for contexts with unsaved changes of the same links.
struct SavedLinks: Sendable {
  /// The number of the save, see ``SaveClock``.
  let number: Int
  private var changes: [StoreIdentifier: LinkChanges] = [:]

  init(number: Int) { self.number = number }

  /// The number of links.
  var count: Int { changes.values.reduce(0) { $0 + $1.count } }

  /// Adds the links that the save has committed in a store.
  mutating func add(_ links: LinkChanges, in store: StoreIdentifier) { changes[store] = links }

  /// The links in a store; `nil` for none.
  subscript(store: StoreIdentifier) -> LinkChanges? { changes[store] }
}

/// Orders edits and saves of all contexts in time. Links have no versions, by which other changes are ordered.
///
/// A save takes its number before its first commit. An edit with a lower number is made on a state without the save, and
/// without each later save.
enum SaveClock {
  private static let count = Atomic<Int>(0)

  /// The number of saves into stores that have begun. An edit reads it after the state on which it is made. The locks of
  /// that read and of the commit order the two accesses.
  static var now: Int { count.load(ordering: .relaxed) }

  /// Counts a save, and returns its number.
  static func begin() -> Int { count.add(1, ordering: .relaxed).newValue }
}
