extension ManagedObjectContext {
  /// Runs a block whose reads see one state of every store: fetches, faults and relationships see each store as of the
  /// first read of it in the block. A save inside the block, also a failed one, ends the state; the next read begins
  /// another.
  ///
  /// Without a snapshot, each fetch sees one state, and all reads of a `perform` see one state as long as the store has
  /// connections to spare. Call it inside `perform`, or on the context's actor or thread.
  ///
  /// Cost: a connection to each store read, until the block ends. Nested snapshots of several contexts have a
  /// connection each, also beyond the size of a pool. Unchanged objects in use become faults at the beginning and are
  /// read again.
  ///
  /// - Throws: The errors of the block.
  public final func withSnapshot<T>(_ body: () throws -> T) rethrows -> T {
    try operating {
      lease.end()
      lease.pins += 1
      lease.beginOperation()
      if lease.pins == 1 { forgetCleanRows() }
      defer {
        lease.pins -= 1
        lease.endOperation()
        lease.end()
        if lease.pins == 0 { storage.retainedReads.removeAll() }
      }
      return try body()
    }
  }

  /// Makes faults of unchanged objects, so that the snapshot reads objects in use again, many with one read.
  final func forgetCleanRows() {
    storage.retainedReads.removeAll()
    let objects = storage.registry.all.filter { $0.pending == nil && $0.row != nil }
    turningIntoFaults(objects) {
      for object in objects where object.pending == nil {
        object.row = nil
        object.collections = nil
      }
    }
    group(objects)
  }

  /// Runs a block whose reads see one state of each store. Objects loaded in the block get `awakeFromFetch` at its end.
  @inline(__always) final func inOneState<T>(_ body: () throws -> T) rethrows -> T {
    lease.beginOperation()
    storage.loads.depth += 1
    defer {
      storage.loads.depth -= 1
      lease.endOperation()
      awakenLoaded()
    }
    do {
      return try body()
    } catch {
      lease.noteFailedOperation()
      throw error
    }
  }

  /// The lease's reader for a store.
  final func reader(for store: any PersistentStore) throws -> any StoreReader { try lease.reader(for: store) }
}
