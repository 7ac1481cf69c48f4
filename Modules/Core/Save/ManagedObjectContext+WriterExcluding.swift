extension ManagedObjectContext {
  /// Runs a block of this context while no other writer can change the stores, as far as the stores are able to keep
  /// writers out. The context reads in the state that the stores have then.
  final func excludingWriters<T>(of stores: [any PersistentStore], _ body: () throws -> T) throws -> T {
    // No connection is held while the stores wait for the running saves.
    lease.endForSave()
    return try coordinator().excludingWriters(of: stores) {
      let isNested = lease.excludesWriters
      lease.excludesWriters = true
      defer { lease.excludesWriters = isNested }
      return try body()
    }
  }
}
