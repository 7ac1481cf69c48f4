// The readers of a save. A unit of work holds at most one connection to a store: two units of work that each held a
// connection and waited for another could deadlock.

extension ManagedObjectContext {
  /// Runs a block that reads the latest state of the stores in the middle of a save.
  ///
  /// The context's readers end before the block, because they may be pinned to a former state. The block's readers end
  /// after the block, because the store needs their connection to save.
  final func readingLatest<T>(_ body: () throws -> T) rethrows -> T {
    lease.endForSave()
    defer { lease.endForSave() }
    return try body()
  }
}
