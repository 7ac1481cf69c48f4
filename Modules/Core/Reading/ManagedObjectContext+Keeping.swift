import Dispatch

// The memory of a unit of work: see ``KeptReads``.

extension ManagedObjectContext {
  /// Prepares the memory for a read. Called before the read, because a save may come between the two.
  final func enterUnit() {
    let kept = storage.kept
    guard storage.confinement.isUsedDirectly else { return kept.belong(to: lease.number) }
    kept.dropIfOvertaken()
    if kept.isEmpty, let coordinator = persistentStoreCoordinator { kept.begin(watching: coordinator.saves) }
  }

  /// A number that changes when kept lists are dropped.
  final var unitOfLists: Int {
    storage.confinement.isUsedDirectly ? storage.kept.seenSaves &+ storage.kept.drops : lease.number
  }

  final func keep(_ objects: [ManagedObject]) {
    storage.kept.keep(objects)
    endUnitInTime()
  }

  final func keep(target object: ManagedObject) {
    storage.kept.keep(target: object)
    endUnitInTime()
  }

  final func keep(targets objects: [ManagedObject]) {
    storage.kept.keep(targets: objects)
    endUnitInTime()
  }

  /// Arranges for the end of a unit of the main actor: the turn of the main queue.
  final func endUnitInTime() {
    guard storage.confinement.isMain, storage.kept.needsEnd else { return }
    storage.kept.needsEnd = false
    storage.confinement.submit { [storage] in storage.kept.removeAll() }
  }

  /// Ends the unit of work that a `perform` was.
  @inline(__always) final func endUnit() {
    if !storage.kept.isEmpty, !storage.confinement.isUsedDirectly { storage.kept.removeAll() }
  }
}
