/// A store able to keep other writers out while a caller reads, and saves the changes that it planned from the reading.
///
/// Core uses it for saves that have lost races to other writers: tried once more while nobody else can save, they come
/// through. Without it, Core tries beside the other writers, and the caller gets a retryable error in the end.
public protocol WriterExcluding: PersistentStore {
  /// Runs a block while no other thread and no other process can change records of the store. Other writers wait;
  /// readers continue.
  ///
  /// Readers that the block makes see the latest committed state. The first save of the calling thread that succeeds is
  /// committed, and lets the other writers in. A refused save changes nothing, and the other writers stay out. The calls
  /// may be nested.
  ///
  /// The block must not wait for another thread: that thread may be waiting to save.
  ///
  /// - Throws: What the block throws; ``ErrorCode/storeReadOnly``, ``ErrorCode/storeDetached``; errors of a store that
  ///   cannot keep other writers out, with the block not run.
  func excludingWriters<T>(_ body: () throws -> T) throws -> T
}

extension PersistentStoreCoordinator {
  /// Runs a block while no other writer can change the stores, as far as the stores are able to keep writers out.
  func excludingWriters<T>(of stores: [any PersistentStore], _ body: () throws -> T) throws -> T {
    // One order for all callers: two of them never wait for each other.
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
