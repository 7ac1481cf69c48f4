// A snapshot that a context keeps across its units of work.

extension ManagedObjectContext {
  /// Pins the present state of every store: from now on, in this block and in later ones, all reads of the context see
  /// that state, until ``advanceSnapshot()``, a write of the context, or ``unpinSnapshot()``.
  ///
  /// ```swift
  /// try await context.perform { try $0.pinSnapshot() }
  /// let albums = try await context.perform { try $0.count(for: FetchRequest(Album.self)) }
  /// let tracks = try await context.perform { try $0.count(for: FetchRequest(Track.self)) }
  /// try await context.perform { try $0.advanceSnapshot() }
  /// ```
  /// The context first merges the saves that it has received, and then fixes the state of each attached store with one
  /// read of the store, one store after the other. Objects in use show that state: their rows are read with one read
  /// for each hierarchy, and the next notification of changed objects names those with another version. Unsaved changes
  /// of the context stay, on top of the state. A call under a pinned snapshot moves it forward, as
  /// ``advanceSnapshot()`` does, and sets the new limit. ``withSnapshot(_:)`` inside reads the pinned state.
  ///
  /// ## While the snapshot is pinned
  ///
  /// - Saves of other contexts wait, and changes passed to `mergeChanges`: neither objects nor live results change by
  ///   them. Live results follow the context's own unsaved changes.
  /// - **A write of this context moves the snapshot forward**, a failed one too: ``save()`` with changes, a batch
  ///   request, a claim, and ``withLock(on:timeout:_:)``. The write begins with the saves of others, as each save does,
  ///   so that only changes of the same properties are conflicts; after the write, its result and the present state of
  ///   the stores are pinned.
  /// - ``refresh(_:mergeChanges:)``, ``refreshAll()``, ``rollback()`` and ``reset()`` return to the pinned state.
  /// - A read that fails, such as a fetch of a cancelled task, leaves the snapshot as it is, unless the connection to a
  ///   server broke.
  /// - A stream of the context throws ``ErrorCode/illegalState``, because a stream begins with the present state.
  /// - The snapshot of a child context has no unsaved changes of the parents: the parents must have none when the
  ///   snapshot is pinned, and later changes of the parents are not shown. A child that saves into its parent in memory
  ///   cannot save. A snapshot of the parent does not pin its children.
  /// - Reads of a detached store throw ``ErrorCode/storeDetached``, also when the store was attached again. A store of
  ///   a later attachment takes part with the state of its first read.
  ///
  /// ## Cost
  ///
  /// Each write under the snapshot costs the reads of this call, one for each hierarchy of the objects in use and
  /// store.
  ///
  /// The snapshot keeps a reader of each store: on a PostgreSQL server a connection with an open transaction, beyond
  /// the size of the pool, so that other readers and saves do not wait; in a SQLite store a connection and its read
  /// transaction, which keeps the log from being emptied; in memory nothing. A context that does not read the stores
  /// for `unreadLimit` releases its readers. Its later reads throw ``ErrorCode/snapshotExpired`` until
  /// ``advanceSnapshot()`` or ``unpinSnapshot()``, and loaded objects keep their values. A context that belongs to a
  /// thread has no queue on which a snapshot could expire: it keeps its snapshot until its end. The release of the
  /// context releases the readers.
  ///
  /// To be called inside the context.
  ///
  /// - Parameter unreadLimit: The time without a read of a store after which the snapshot expires.
  /// - Throws: ``ErrorCode/contextWithoutStore``; ``ErrorCode/unsupported`` for a store without
  ///   ``StoreCapabilities/concurrentReads``; ``ErrorCode/illegalState`` when a parent has unsaved changes, and in code
  ///   that a write of this context calls; ``ErrorCode/tooManyConnections``, and errors of the stores. The context has
  ///   no pinned snapshot then, or, when it had one, as for ``advanceSnapshot()``.
  public final func pinSnapshot(unreadLimit: Duration = .seconds(300)) throws {
    try operating {
      try refusePinning()
      guard lease.pin == nil else { return try advance(to: SnapshotPin(unreadLimit: unreadLimit)) }
      try beginPin(SnapshotPin(unreadLimit: unreadLimit))
    }
  }

  /// Moves the pinned snapshot to the present state of every store.
  ///
  /// Merges the saves of others that waited, reads the rows of the objects in use, and updates the live results at the
  /// end of the outermost block. The next notification of changed objects names the inserted, refreshed and deleted
  /// objects, as after a merge. The snapshot then includes the stores attached at the call. An expired snapshot moves
  /// forward too. Cost: as ``pinSnapshot(unreadLimit:)``.
  ///
  /// To be called inside the context.
  ///
  /// - Throws: ``ErrorCode/illegalState`` without a pinned snapshot, when a parent has unsaved changes, and in code
  ///   that a write of this context calls: the snapshot stays as it is then. After another error, of
  ///   ``pinSnapshot(unreadLimit:)``, the snapshot has lost its state: reads throw ``ErrorCode/snapshotExpired`` until
  ///   a call of this function succeeds, or ``unpinSnapshot()``.
  public final func advanceSnapshot() throws {
    try operating {
      try refusePinning()
      guard let pin = lease.pin else {
        throw CoherenceError(
          .illegalState, "The \(label) has no pinned snapshot to move forward; call `pinSnapshot` first.")
      }
      try advance(to: SnapshotPin(unreadLimit: pin.unreadLimit))
    }
  }

  /// Ends the pinned snapshot, and merges the saves of others that waited. Does nothing without a pinned snapshot.
  ///
  /// Releases the readers at once. Live results are updated at the end of the outermost block. Objects that no received
  /// save names keep their values until they are fetched or refreshed, as in any context.
  ///
  /// To be called inside the context.
  public final func unpinSnapshot() {
    operating {
      let wasSuspended = storage.pinning.suspended.take() != nil
      let wasPinned = lease.endPin() != nil
      guard wasPinned || wasSuspended else { return }
      storage.pinning.watch = nil
      persistentStoreCoordinator?.lastingReaders.remove(self)
      // A write that suspends the snapshot has released the readers and merged the saves of others at its beginning.
      guard wasPinned else { return }
      storage.retainedReads.removeAll()
      turnObserver?.snapshotChanged(in: self)
      processInbox()
    }
  }

  /// Whether the context has a pinned snapshot, expired or not. To be asked inside the context.
  public final var hasPinnedSnapshot: Bool { operating { lease.pin != nil || storage.pinning.suspended != nil } }

  // MARK: Beginning

  /// Throws in code that a write of this context calls: the pin would move records of the write onto other rows.
  private final func refusePinning() throws(CoherenceError) {
    guard storage.callbacks.areRunning || storage.pinning.suspended != nil else { return }
    throw CoherenceError(
      .illegalState,
      "A snapshot is pinned by a hook of an object, by a merge policy, by a save participant, or in the middle of a write; "
        + "pin it before or after the write.")
  }

  /// Replaces the pinned snapshot by one of the present state. After an error, the snapshot has no state.
  private final func advance(to pin: SnapshotPin) throws {
    try refuseUnsavedParents()
    lease.endPin()
    do {
      try beginPin(pin)
    } catch {
      losePin(pin, error)
      throw error
    }
  }

  /// Fixes the present state of the stores, and loads that state into the objects in use. After an error, no snapshot
  /// is pinned.
  private final func beginPin(_ pin: SnapshotPin) throws {
    try refuseUnsavedParents()
    let coordinator = try coordinator()
    let stores = try coordinator.openStores()
    for store in stores { try SnapshotPin.checkCapabilities(of: store) }
    // The saves of others come first, so that no object has a later state than the pinned readers. The earlier readers
    // are finished first, those of an enclosing `withSnapshot` too, and then the readers of the inbox's processing.
    lease.endForSave()
    processInbox()
    lease.endForSave()
    storage.retainedReads.removeAll()
    lease.beginPin(pin)
    do {
      for store in stores { try lease.fixReader(for: store) }
      try loadPinnedState(of: stores)
    } catch {
      lease.endPin()
      throw error
    }
    coordinator.lastingReaders.add(self, release: pinnedStoreRelease)
    turnObserver?.snapshotChanged(in: self)
    watchPin(pin)
  }

  /// Throws when a parent has unsaved changes, which the snapshot would not show.
  private final func refuseUnsavedParents() throws(CoherenceError) {
    var ancestor = parent
    while let context = ancestor {
      guard !context.hasUnsavedRecords else {
        throw CoherenceError(
          .illegalState,
          "A parent of the \(label) has unsaved changes, which a pinned snapshot does not show; save the parent or roll it "
            + "back first, or pin the snapshot in the parent.")
      }
      ancestor = context.parent
    }
  }

  /// Keeps a pinned snapshot without a state, so that reads fail instead of seeing another moment.
  private final func losePin(_ pin: SnapshotPin, _ cause: any Error) {
    lease.beginPin(pin)
    lease.failPin(.notMoved(cause))
    turnObserver?.snapshotChanged(in: self)
  }

  // MARK: Writing

  /// Runs a write of this context. A pinned snapshot ends before the write, and the present state is pinned after it.
  @inline(__always) final func movingSnapshot<T>(_ write: () throws -> T) rethrows -> T {
    if lease.pin == nil { return try write() }
    return try movingPinnedSnapshot(write)
  }

  /// Runs an operation of the context that writes into the stores.
  final func writing<T>(_ body: () throws -> T) rethrows -> T { try operating { try movingSnapshot(body) } }

  /// As ``movingSnapshot(_:)``, with a pinned snapshot.
  @inline(never) private final func movingPinnedSnapshot<T>(_ write: () throws -> T) rethrows -> T {
    storage.pinning.suspended = lease.endPin()
    turnObserver?.snapshotChanged(in: self)
    processInbox()
    defer { pinAgain() }
    return try write()
  }

  /// Pins the present state after a write. The write has its own result, so that a failure is left to the next read.
  private final func pinAgain() {
    guard let suspended = storage.pinning.suspended else { return }
    storage.pinning.suspended = nil
    let pin = SnapshotPin(unreadLimit: suspended.unreadLimit)
    do { try beginPin(pin) } catch { losePin(pin, error) }
  }

  /// Throws when a pinned snapshot could not show the changes after a save into the parent.
  final func refusePinnedSaveIntoParent() throws(CoherenceError) {
    guard lease.pin != nil, parent != nil, !savesPastParent else { return }
    throw CoherenceError(
      .illegalState,
      "The \(label) has a pinned snapshot and saves into its parent, whose unsaved changes the snapshot would not show; call "
        + "`unpinSnapshot()` before the save, or set `savesPastParent`.")
  }

  /// Throws when a stream would mix its own state of the stores with the pinned one.
  final func refusePinnedStream() throws(CoherenceError) {
    guard lease.pin != nil else { return }
    throw CoherenceError(
      .illegalState,
      "The \(label) has a pinned snapshot, and a stream reads another state of the stores; fetch the records in parts, or "
        + "stream them in another context.")
  }

  // MARK: Release

  /// Has a snapshot expire when it was not read for its limit. A check that is scheduled already, at no later time,
  /// serves the new snapshot too: each write of the context pins another snapshot, and must not schedule another check.
  private final func watchPin(_ pin: SnapshotPin) {
    if let watch = storage.pinning.watch, watch.limit <= pin.unreadLimit { return }
    scheduleCheck(of: pin, after: pin.unreadLimit)
  }

  /// Schedules a check whether the snapshot was read in the meantime.
  private final func scheduleCheck(of pin: SnapshotPin, after duration: Duration) {
    // A context of a thread has no queue for the check.
    guard let handle = storage.handle, !storage.confinement.isOfThread else { return }
    let watch = SnapshotWatch(limit: pin.unreadLimit)
    storage.pinning.watch = watch
    // The timer belongs to the watch, so that the block may not retain the watch.
    watch.timer.start(after: duration) { [weak watch] in
      guard let watch, let context = handle.context else { return }
      context.perform(onError: { _ in }) { context.expirePin(watch) }
    }
  }

  /// Expires the snapshot if it was not read for its limit, and schedules the next check otherwise.
  private final func expirePin(_ watch: SnapshotWatch) {
    // Otherwise the check of a snapshot with a shorter limit has replaced this check.
    guard storage.pinning.watch === watch else { return }
    storage.pinning.watch = nil
    guard let pin = lease.pin, pin.failure == nil else { return }
    let remaining = lease.isPinInUse ? pin.unreadLimit : pin.unreadLimit - (ContinuousClock.now - pin.lastRead)
    if remaining > .zero { return scheduleCheck(of: pin, after: remaining) }
    lease.failPin(.unread(pin.unreadLimit))
    turnObserver?.snapshotChanged(in: self)
  }

  /// The block that the coordinator calls, on any thread, before it detaches or erases a store: releases the pinned
  /// reader of the store. A context of a thread cannot be entered from another thread, and keeps its reader there.
  private final var pinnedStoreRelease: @Sendable (any PersistentStore) -> Void {
    guard let handle = storage.handle else { return { _ in } }
    return { store in
      guard let context = handle.context else { return }
      let confinement = context.storage.confinement
      if confinement.isInside { return context.lease.forgetPinned(store) }
      guard !confinement.isOfThread else { return }
      confinement.submit { handle.context?.insideAlone { handle.context?.lease.forgetPinned(store) } }
    }
  }
}
