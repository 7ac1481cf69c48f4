// The readers of a save. A unit of work holds one connection to a store at a time: a second one could be the one that
// another unit of work waits for, while that unit holds the connection that this one wants.

extension ManagedObjectContext {
  /// Runs a block that reads the latest state of the stores in the middle of a save. Its readers end before the block, because
  /// they may be pinned to a former state, and after it, because the store needs their connection to save.
  final func readingLatest<T>(_ body: () throws -> T) rethrows -> T {
    lease.endForSave()
    defer { lease.endForSave() }
    return try body()
  }
}
