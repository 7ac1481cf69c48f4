import Synchronization

/// Counts the beginnings and ends of a context's saves, so that a stream on another thread can begin between two saves,
/// and so that a child notices a save. A replacement of identifiers counts as a save.
/// Also records whether the context has written changes, because a retry would write them twice.
final class SaveNumber: Sendable {
  private let number = Atomic<Int>(0)
  private let committed = Atomic<Bool>(false)

  /// Whether a save or a batch request of the context, or of a child that saves past it, has written changes or may
  /// have written them.
  var mayHaveCommitted: Bool { committed.load(ordering: .acquiring) }

  func noteCommit() { committed.store(true, ordering: .releasing) }

  /// The number of beginnings and ends so far.
  var count: Int { number.load(ordering: .sequentiallyConsistent) }

  /// The number of beginnings and ends so far; `nil` during a save.
  var value: Int? {
    let value = count
    return value % 2 == 0 ? value : nil
  }

  /// Runs a save. A nested save, which throws, does not count.
  func saving<T>(_ body: () throws -> T) rethrows -> T {
    guard value != nil else { return try body() }
    number.add(1, ordering: .sequentiallyConsistent)
    defer { number.add(1, ordering: .sequentiallyConsistent) }
    return try body()
  }
}
