import Dispatch

// What a unit of work has read through relationships.

extension ManagedObjectContext {
  /// Called before anything is read that may be kept.
  final func enterUnit() {
    let kept = storage.kept
    guard storage.confinement.isUsedDirectly else { return kept.belong(to: lease.number) }
    kept.dropIfOvertaken()
    if kept.isEmpty, let coordinator = persistentStoreCoordinator { kept.begin(watching: coordinator.saves) }
  }

  /// Changes when lists that were read along are lost.
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

  /// Has what is kept on the main actor go with the turn of the main queue.
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
