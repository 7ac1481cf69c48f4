import Dispatch

// The retention of read objects for a unit of work: see ``KeptReads``.

extension ManagedObjectContext {
  /// Prepares the retention of a read's objects. Called before the read, so that a save of another context during the
  /// read is noticed.
  final func enterUnit() {
    let kept = storage.kept
    if isInLeasedUnit { return kept.dropLists(unlessReadUnder: lease.number) }
    kept.dropIfOutdated()
    if kept.isEmpty, let coordinator = persistentStoreCoordinator { kept.begin(watching: coordinator.saves) }
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
  private final var unleasedUnit: Int { ~(storage.kept.seenSaves &+ storage.kept.drops) }

  /// Retains objects until the unit of work ends.
  final func keep(_ objects: [ManagedObject]) {
    storage.kept.keep(objects)
    scheduleUnitEnd()
  }

  /// Retains the target of a to-one relationship until the unit of work ends.
  final func keep(target object: ManagedObject) {
    storage.kept.keep(target: object)
    scheduleUnitEnd()
  }

  /// Retains targets of to-one relationships until the unit of work ends.
  final func keep(targets objects: [ManagedObject]) {
    storage.kept.keep(targets: objects)
    scheduleUnitEnd()
  }

  /// Schedules the end of a unit of the main actor, after the present turn of the main queue, if no ``MainTurn`` ends
  /// it.
  final func scheduleUnitEnd() {
    guard storage.confinement.isMain, !turn.isLasting, storage.kept.needsEnd else { return }
    storage.kept.needsEnd = false
    storage.confinement.submit { [storage] in storage.kept.removeAll() }
  }

  /// Ends the unit of work of an outermost `perform`.
  @inline(__always) final func endUnit() {
    guard !storage.confinement.isUsedDirectly else { return }
    storage.unit &+= 1
    if !storage.kept.isEmpty { storage.kept.removeAll() }
  }
}
