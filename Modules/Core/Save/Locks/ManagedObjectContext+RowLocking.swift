extension ManagedObjectContext {
  /// Runs a block while no other writer can change or delete the records of objects: "fetch for update".
  ///
  /// ```swift
  /// try context.withLock(on: [from, to], timeout: .seconds(5)) {
  ///   guard from.balance >= amount else { throw NotEnough() }
  ///   from.balance -= amount
  ///   to.balance += amount
  ///   try context.save()
  /// }
  /// ```
  ///
  /// The lock lasts **until the first save in the block has committed, or until the block ends**. A save after the
  /// block is an ordinary save, which may meet a conflict. The lock holds against all other contexts, threads and
  /// processes. Their saves, batch requests and claims wait until the lock ends, and then compare versions as usual;
  /// claims on a PostgreSQL server skip locked records. Readers never wait.
  ///
  /// The objects are refreshed under the lock, so that the block reads the present values and members. An object's
  /// unsaved changes stay on top of the refreshed state. A property changed both here and by another writer is a
  /// conflict at the save, which the ``mergePolicy`` resolves, as without a lock. Objects without a lock keep their
  /// state.
  ///
  /// - **PostgreSQL** locks the records alone, with `SELECT … FOR UPDATE`, and the save is made in the same
  ///   transaction. New records that refer to a locked record wait too. The lock takes a connection of the pool, also
  ///   while it waits.
  /// - **SQLite and in memory**: all writers of the store wait until the lock ends. A writer of this process that has
  ///   waited for half a second comes before writers that begin to wait later.
  /// - A store of another package without ``RowLocking`` and ``WriterExcluding`` refuses the lock.
  ///
  /// Each call takes its locks in the same order of stores, hierarchies and keys, so that two single calls never
  /// deadlock. Calls may be nested: all locks of a store end together, with the first save or with the outermost block.
  /// Nested calls, and saves of other records in the block, can deadlock with other callers. A store then reports
  /// ``ErrorCode/storeBusy``; let the error leave the outermost block before trying again, so that its locks end.
  ///
  /// The lock belongs to the calling thread. Saves of other contexts that the block enters by `performAndWait` are part
  /// of it. The block must not wait for another thread or for the main queue, which may be waiting for the lock. An
  /// increment such as `balance + 1` needs no lock: a ``BatchUpdateRequest`` calculates in the store.
  ///
  /// To be called inside the context. As a save does, the call ends the state of ``withSnapshot(_:)``, and moves the
  /// snapshot of ``pinSnapshot(unreadLimit:)`` forward. Costs a transaction, and one read for each hierarchy and store.
  ///
  /// - Parameters:
  ///   - objects: Saved objects of this context, of any stores. Without objects, the block runs without a lock.
  ///   - timeout: The longest wait for the lock, over all stores; `nil` for no limit but the stores' own. At zero, the
  ///     call waits for no other writer.
  ///   - body: Called once, under the lock.
  /// - Returns: The result of the block.
  /// - Throws: The error of the block. With the other errors the block has not run: ``ErrorCode/storeBusy`` with
  ///   ``CoherenceError/isRetryable`` set after the timeout and after a deadlock; ``ErrorCode/objectNotFound`` with the
  ///   identifiers of all missing records; ``ErrorCode/illegalState`` for an unsaved object, in a child context that
  ///   saves into its parent, and in a hook, merge policy or participant called by this context;
  ///   ``ErrorCode/wrongContext``, ``ErrorCode/objectDeleted``; ``ErrorCode/unsupported``, ``ErrorCode/storeReadOnly``,
  ///   ``ErrorCode/cancelled``, and errors of the store. ``ErrorCode/connectionLost`` also when the lock was lost
  ///   before the block ended without a save.
  public final func withLock<T>(
    on objects: [ManagedObject], timeout: Duration? = nil, _ body: () throws -> T
  ) throws -> T {
    let deadline = timeout.map { ContinuousClock.now + $0 }
    return try operating {
      try refuseLockDuringSave()
      let locks = try locks(on: objects)
      guard !locks.isEmpty else { return try body() }
      return try movingSnapshot { try withLock(locks, until: deadline, body) }
    }
  }

  private final func withLock<T>(
    _ locks: [StoreLock], until deadline: ContinuousClock.Instant?, _ body: () throws -> T
  ) throws -> T {
    // Releases the readers first: they show an older state, and their connections may be needed for the lock.
    lease.endForSave()
    return try coordinator().lockingRows(locks, until: deadline) { rows in
      try checkPresence(rows, of: locks)
      refreshLocked(rows)
      let isNested = lease.excludesWriters
      lease.excludesWriters = true
      defer { lease.excludesWriters = isNested }
      return try body()
    }
  }

  /// Throws in code called by a save of this context: the refresh would rebase the records of the save onto other rows.
  private final func refuseLockDuringSave() throws {
    guard storage.callbacks.areRunning else { return }
    throw CoherenceError(
      .illegalState,
      "A hook of an object, a merge policy or a save participant locks records in the context that called it; lock around "
        + "the save, or in another context.")
  }

  /// The records to lock in each store.
  private final func locks(on objects: [ManagedObject]) throws -> [StoreLock] {
    var ids: [ManagedObjectID] = []
    var seen: Set<ManagedObjectID> = []
    for object in objects {
      try checkLockable(object)
      if seen.insert(object.recordID).inserted { ids.append(object.recordID) }
    }
    guard !ids.isEmpty else { return [] }
    guard parent == nil || savesPastParent else {
      throw CoherenceError(
        .illegalState,
        "A lock of a child context would end before its parent saves into the store; lock in the parent, or set "
          + "`savesPastParent`.")
    }
    let coordinator = try coordinator()
    return try Dictionary(grouping: ids, by: \.storeIdentifier).values.map { ids in
      StoreLock(store: try coordinator.store(of: ids[0]), ids: ids)
    }
  }

  private final func checkLockable(_ object: ManagedObject) throws {
    object.check()
    if object.flags.contains(.detached) { throw object.deletedError() }
    guard object.storage === storage else {
      throw CoherenceError(
        .wrongContext,
        "An object of '\(object.entity.name)' belongs to another context than the lock; lock the object of this context, "
          + "which `object(with:)` returns.")
    }
    guard object.pending?.kind != .inserted, !object.recordID.isTemporaryID else {
      var error = CoherenceError(
        .illegalState,
        "An object of '\(object.entity.name)' was never saved and has no record to lock; save the object first, or leave it "
          + "out.")
      error.objectIDs = [object.recordID]
      throw error
    }
  }

  /// Throws when a record to lock does not exist.
  private final func checkPresence(_ rows: [Row], of locks: [StoreLock]) throws {
    let present = Set(rows.lazy.map(\.id))
    let missing = locks.flatMap(\.ids).filter { !present.contains($0) }.sorted(by: ManagedObjectID.precedes)
    guard !missing.isEmpty else { return }
    noteMissing(missing)
    let names = Set(missing.map { "'\($0.entity.name)'" }).sorted().joined(separator: ", ")
    var error = CoherenceError(
      .objectNotFound,
      "\(missing.count) record(s) of \(names) do not exist any more and cannot be locked; leave their objects out.")
    error.objectIDs = missing
    throw error
  }

  /// Refreshes objects from the rows of their locked records, under the objects' own changes.
  private final func refreshLocked(_ rows: [Row]) {
    // Members of the records may have been read before the lock.
    storage.retainedReads.removeAll()
    for row in rows.compactMap(belowRow) {
      guard let object = storage.registry.object(for: row.id) else { continue }
      let isNewer = object.rowVersion.map { $0 < row.version } ?? true
      object.collections = nil
      guard isNewer else { continue }
      refresh(from: row, isNew: false, relinked: Set(row.entity.relationships.lazy.filter(\.isOrdered)))
    }
    awakenLoaded()
  }
}
