extension ManagedObjectContext {
  /// Runs a block during which no other writer can change the stores that conform to ``WriterExcluding``. The context's
  /// reads in the block see the present state of the stores.
  final func excludingWriters<T>(of stores: [any PersistentStore], _ body: () throws -> T) throws -> T {
    try movingSnapshot {
      // Releases the readers first, because the stores may wait for running saves of threads that need a connection.
      lease.endForSave()
      return try coordinator().excludingWriters(of: stores) {
        let isNested = lease.excludesWriters
        lease.excludesWriters = true
        defer { lease.excludesWriters = isNested }
        return try body()
      }
    }
  }
}
