// The readers of a save. A unit of work holds one connection to a store at a time. Two units of work that each held one
// connection and waited for a second one could wait for each other for ever.

extension ManagedObjectContext {
  /// Runs a block that reads the latest state of the stores in the middle of a save.
  ///
  /// The context's readers end before the block, because they may be pinned to a former state. The readers of the block end
  /// with it, because the store needs their connection to save.
  final func readingLatest<T>(_ body: () throws -> T) rethrows -> T {
    lease.endForSave()
    defer { lease.endForSave() }
    return try body()
  }
}
