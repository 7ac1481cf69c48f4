// The units of work of a main-queue context; see ``MainTurn``.

extension ManagedObjectContext {
  /// Begins an outermost block of a main-queue context. The block belongs to the open unit, or begins a new unit.
  @inline(__always) final func continueMainTurn() {
    if !turn.hasProcessedInbox || !turn.isCurrent(lease) { beginMainBlock() }
  }

  @inline(never) private final func beginMainBlock() {
    // Loads on access to objects began the unit. While no save of another context waits, the unit's state is recent
    // enough for any operation. The end of the turn is scheduled already.
    if turn.isLasting, turn.isCurrent(lease), inbox.isEmpty, storage.vanished.missing.isEmpty {
      turn.hasProcessedInbox = true
      if let turnObserver { turnObserver.turnBegan(in: self) }
      return lease.beginUnit()
    }
    openMainUnit()
    if let turnObserver {
      if turn.isAlone { postLastEdits() }
      turnObserver.turnBegan(in: self)
    }
    lease.beginUnit()
  }

  /// Notifies observers of the edits that the ended turn made after its last operation. The live results then process
  /// these edits together with the turn's earlier changes. If the edits were posted only after the block, the results
  /// would deliver the same records a second time, because unsaved values have no version to compare.
  private final func postLastEdits() {
    guard !storage.notifications.unposted.isEmpty else { return }
    postChanges()
    sendTouched()
  }

  /// Begins a unit with the saves of other contexts.
  ///
  /// The end of the turn is queued before the inbox is read. A save that the inbox lacks is therefore later than the
  /// queued end, and a job queued after that save runs when the turn has ended, so that the job sees the save.
  @inline(never) final func openMainUnit() {
    openUnit()
    processInbox()
    turn.hasProcessedInbox = true
    // The processing of the inbox has ended the lease.
    lease.beginUnit()
  }

  private final func openUnit() {
    closeMainUnit()
    let isLasting = !turn.isAlone && MainQueue.continuesAfterCaller
    let saves = persistentStoreCoordinator?.saves
    if isLasting {
      scheduleTurnEnd()
      storage.retainedReads.beginLeased(watching: saves)
    }
    turn.open(isLasting: isLasting, saves: saves)
    lease.beginUnit()
  }

  private final func scheduleTurnEnd() {
    guard !storage.awaitsTurnEnd, let handle = storage.handle else { return }
    storage.awaitsTurnEnd = true
    MainTurns.add(handle) { handle.context?.endMainUnit() }
    storage.confinement.submit {
      MainTurns.remove(handle)
      handle.context?.endMainTurn()
    }
  }

  /// Ends the open unit; inside of an operation, at the operation's end.
  private final func endMainUnit() {
    if storage.confinement.isEntered { turn.isSuperseded = true } else { closeMainUnit() }
  }

  private final func endMainTurn() {
    storage.awaitsTurnEnd = false
    // A run loop inside of an operation may run this block.
    endMainUnit()
    if storage.confinement.isEntered { return }
    // The last edits of the turn may have no operation after them, which would post them. And a run loop inside of an
    // operation may have run the block that processes the inbox.
    if !inbox.isEmpty && lease.pin == nil || !storage.notifications.unposted.isEmpty { insideAlone {} }
  }

  /// Ends the open unit, with its lease.
  final func closeMainUnit() {
    lease.end()
    guard turn.isOpen else { return }
    if turn.isLasting {
      storage.unit &+= 1
      if !storage.retainedReads.isEmpty { storage.retainedReads.removeAll() }
    }
    turn.close()
  }

  /// Has the next operation of a main-queue context begin another unit, after a save by the turn's own code. Does nothing
  /// off the main actor: saves by other threads wait for the end of the turn.
  final func supersedeMainUnit() {
    if storage.confinement.isMain, Confinement.isOnMain { turn.isSuperseded = true }
  }

  /// Ends the open units of all main-queue contexts, before the main actor waits for work of other threads.
  package static func endMainUnits() { MainTurns.endUnits() }

  // MARK: Blocks and loads

  /// Runs a block that another thread or an earlier turn sent into the context. On the main actor, the block is a unit
  /// of its own.
  final func insideAlone<T>(_ body: () throws -> T) rethrows -> T {
    guard storage.confinement.isMain else { return try inside(body) }
    if storage.confinement.isEntered {
      turn.isSuperseded = true
      return try inside(body)
    }
    closeMainUnit()
    turn.isAlone = true
    defer { turn.isAlone = false }
    return try inside(body)
  }

  /// Begins a load on access to an object. The load does not process the inbox: a unit that it begins has not seen the
  /// saves of other contexts.
  @inline(__always) final func beginMainLoad() {
    if !turn.isCurrent(lease) { openUnit() }
  }

  @inline(__always) final func endMainLoad() {
    if !turn.isLasting || !turn.isCurrent(lease) { closeMainUnit() }
  }
}
