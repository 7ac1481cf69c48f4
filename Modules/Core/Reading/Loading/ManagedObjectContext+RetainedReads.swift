import Dispatch

// The retention of read objects for a unit of work: see ``RetainedReads``.

extension ManagedObjectContext {
  /// Prepares the retention of a read's objects. Called before the read, so that a save of another context during the
  /// read is noticed.
  final func enterUnit() {
    let reads = storage.retainedReads
    if isInLeasedUnit { return reads.dropLists(unlessReadUnder: lease.number) }
    reads.dropIfOutdated()
    if reads.isEmpty, let coordinator = persistentStoreCoordinator { reads.begin(watching: coordinator.saves) }
  }

  /// Whether all reads of the unit of work use one lease. Otherwise a save by any context ends the unit.
  @inline(__always) private final var isInLeasedUnit: Bool {
    !storage.confinement.isUsedDirectly || turn.isLasting
  }

  /// A number that changes when retained lists are dropped.
  final var unitOfLists: Int { isInLeasedUnit ? lease.number : unleasedUnit }

  /// A number that changes when a unit of work ends.
  final var unitOfFaults: Int { isInLeasedUnit ? storage.unit : unleasedUnit }

  /// The number of a unit without a lease. Negative, to differ from the units with a lease of the same main-queue
  /// context.
  private final var unleasedUnit: Int { ~(storage.retainedReads.seenSaves &+ storage.retainedReads.drops) }

  /// Retains objects until the unit of work ends.
  final func retain(_ objects: [ManagedObject]) {
    storage.retainedReads.retain(objects)
    scheduleUnitEnd()
  }

  /// Retains the target of a to-one relationship until the unit of work ends.
  final func retain(target object: ManagedObject) {
    storage.retainedReads.retain(target: object)
    scheduleUnitEnd()
  }

  /// Retains targets of to-one relationships until the unit of work ends.
  final func retain(targets objects: [ManagedObject]) {
    storage.retainedReads.retain(targets: objects)
    scheduleUnitEnd()
  }

  /// Schedules the end of a unit of the main actor, after the present turn of the main queue, if no ``MainTurn`` ends
  /// it.
  final func scheduleUnitEnd() {
    guard storage.confinement.isMain, !turn.isLasting, storage.retainedReads.needsEnd else { return }
    storage.retainedReads.needsEnd = false
    storage.confinement.submit { [storage] in storage.retainedReads.removeAll() }
  }

  /// Ends the unit of work of an outermost `perform`.
  @inline(__always) final func endUnit() {
    guard !storage.confinement.isUsedDirectly else { return }
    storage.unit &+= 1
    if !storage.retainedReads.isEmpty { storage.retainedReads.removeAll() }
  }
}
