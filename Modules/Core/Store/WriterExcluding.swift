/// A store that can exclude other writers while a caller reads and then saves changes based on the reading.
///
/// Core uses the exclusion for a save that met conflicts with other writers several times: the next attempt runs while
/// no other writer can save, and succeeds. For a store without the refinement, Core retries among the other writers,
/// and finally throws a retryable error.
public protocol WriterExcluding: PersistentStore {
  /// Runs a block while no other thread and no other process can change records of the store. Other writers wait;
  /// readers continue.
  ///
  /// Readers that the block makes see the latest committed state. The first save of the calling thread that succeeds is
  /// committed, and ends the exclusion. A refused save changes nothing and does not end the exclusion. Calls may be
  /// nested.
  ///
  /// The block must not wait for another thread: that thread may be waiting to save.
  ///
  /// - Throws: The block's error; ``ErrorCode/storeReadOnly``, ``ErrorCode/storeDetached``; errors of the exclusion, in
  ///   which case the block does not run.
  func excludingWriters<T>(_ body: () throws -> T) throws -> T
}

extension PersistentStoreCoordinator {
  /// Runs a block while no other writer can change the stores, as far as the stores can exclude writers.
  func excludingWriters<T>(of stores: [any PersistentStore], _ body: () throws -> T) throws -> T {
    // All callers exclude writers in the same order of stores, so that two callers never wait for each other.
    let able = stores.compactMap { $0 as? any WriterExcluding }
      .sorted { $0.identifier.rawValue < $1.identifier.rawValue }
    return try excludingWriters(of: able[...], body)
  }

  private func excludingWriters<T>(
    of stores: ArraySlice<any WriterExcluding>, _ body: () throws -> T
  ) throws -> T {
    guard let store = stores.first else { return try body() }
    return try store.excludingWriters { try excludingWriters(of: stores.dropFirst(), body) }
  }
}

extension ManagedObjectContext {
  /// Runs a block of this context while no other writer can change the stores, as far as the stores can exclude
  /// writers. The context's reads see the present state of the stores.
  final func excludingWriters<T>(of stores: [any PersistentStore], _ body: () throws -> T) throws -> T {
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
