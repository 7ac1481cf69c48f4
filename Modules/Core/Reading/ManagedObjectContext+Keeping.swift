import Dispatch

// Reads retained for a unit of work: see ``KeptReads``.

extension ManagedObjectContext {
  /// Prepares the memory for the objects of a read. Called before the read: a save of another context during the read
  /// then drops the objects.
  final func enterUnit() {
    let kept = storage.kept
    guard storage.confinement.isUsedDirectly else { return kept.belong(to: lease.number) }
    kept.dropIfOvertaken()
    if kept.isEmpty, let coordinator = persistentStoreCoordinator { kept.begin(watching: coordinator.saves) }
  }

  /// A number that changes when retained lists are dropped.
  final var unitOfLists: Int {
    storage.confinement.isUsedDirectly ? storage.kept.seenSaves &+ storage.kept.drops : lease.number
  }

  /// A number that changes when a unit of work ends.
  final var unitOfFaults: Int {
    storage.confinement.isUsedDirectly ? storage.kept.seenSaves &+ storage.kept.drops : storage.unit
  }

  /// Retains objects until the unit of work ends.
  final func keep(_ objects: [ManagedObject]) {
    storage.kept.keep(objects)
    endUnitInTime()
  }

  /// Retains the target of a to-one relationship until the unit of work ends.
  final func keep(target object: ManagedObject) {
    storage.kept.keep(target: object)
    endUnitInTime()
  }

  /// Retains targets of to-one relationships until the unit of work ends.
  final func keep(targets objects: [ManagedObject]) {
    storage.kept.keep(targets: objects)
    endUnitInTime()
  }

  /// Schedules the end of a unit of the main actor, after the present turn of the main queue.
  final func endUnitInTime() {
    guard storage.confinement.isMain, storage.kept.needsEnd else { return }
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
