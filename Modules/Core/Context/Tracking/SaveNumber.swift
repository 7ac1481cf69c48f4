import Synchronization

/// The number of the beginnings and ends of a context's saves, for streams of other threads: a stream begins between two
/// saves. And whether the context has saved, for work that is not repeated then.
final class SaveNumber: Sendable {
  private let number = Atomic<Int>(0)
  private let committed = Atomic<Bool>(false)

  /// Whether a save or a batch request of the context, or of a child that saves through it, has written something, or may
  /// have.
  var mayHaveCommitted: Bool { committed.load(ordering: .acquiring) }

  func noteCommit() { committed.store(true, ordering: .releasing) }

  /// The number; `nil` during a save.
  var value: Int? {
    let value = number.load(ordering: .sequentiallyConsistent)
    return value % 2 == 0 ? value : nil
  }

  /// Runs a save. A save within a save, which is refused, does not count.
  func saving<T>(_ body: () throws -> T) rethrows -> T {
    guard value != nil else { return try body() }
    number.add(1, ordering: .sequentiallyConsistent)
    defer { number.add(1, ordering: .sequentiallyConsistent) }
    return try body()
  }
}
