// The calls of the objects' hooks. The documentation of each hook says when it is called.

extension ManagedObjectContext {
  /// Runs a block that calls hooks of objects. A save of the context in such a block throws.
  @inline(__always) final func callingHooks<T>(_ body: () throws -> T) rethrows -> T {
    storage.callbacks.hookDepth += 1
    defer { storage.callbacks.hookDepth -= 1 }
    return try body()
  }

  /// Refuses a save that a hook begins in the context that called the hook.
  final func refuseSaveByHook() throws(CoherenceError) {
    guard storage.callbacks.hookDepth > 0 else { return }
    throw CoherenceError(
      .illegalState,
      "A hook of an object, such as `willSave` or `didSave`, saves the context that called the hook; save after the hook "
        + "has returned, or save another context.")
  }

  // MARK: Loads

  /// Calls `awakeFromFetch` of the waiting objects, and of the objects that these calls load. Does nothing in the
  /// middle of a read.
  @inline(__always) final func awakenLoaded() {
    if !storage.loads.waiting.isEmpty, storage.loads.isDue { awakenWaiting() }
  }

  @inline(never) private final func awakenWaiting() {
    storage.loads.isAwakening = true
    defer { storage.loads.isAwakening = false }
    callingHooks {
      while !storage.loads.waiting.isEmpty {
        for object in storage.loads.takeAll() { object.awaken() }
      }
    }
  }

  /// Calls `awakeFromFetch` of fetched objects whose values are new. In the middle of a read the objects wait.
  final func awaken(_ objects: [ManagedObject]) {
    guard storage.loads.isDue else {
      for object in objects where object.isAsleep { storage.loads.append(object) }
      return
    }
    storage.loads.isAwakening = true
    callingHooks { objects.visit { $0.awaken() } }
    storage.loads.isAwakening = false
    awakenLoaded()
  }

  // MARK: Faults

  /// Runs an operation that turns objects into faults, between their hooks `willTurnIntoFault` and `didTurnIntoFault`.
  final func turningIntoFaults(_ objects: some Sequence<ManagedObject>, _ body: () -> Void) {
    var turning: [ManagedObject] = []
    callingHooks {
      for object in objects where object.mayTurnIntoFault {
        object.flags.insert(.turningIntoFault)
        turning.append(object)
        object.willTurnIntoFault()
      }
    }
    body()
    callingHooks {
      for object in turning {
        object.flags.remove(.turningIntoFault)
        guard object.hasNoValues || object.flags.contains(.detached) else { continue }
        object.flags.remove(.awake)
        object.didTurnIntoFault()
      }
    }
  }

  // MARK: Deletes

  /// Calls `prepareForDeletion`, unless the object is marked for deletion, or the hook runs already.
  final func prepareForDeletion(of object: ManagedObject) {
    guard !object.flags.contains(.detached), !object.flags.contains(.preparingDeletion),
      object.pending?.kind != .deleted
    else { return }
    object.flags.insert(.preparingDeletion)
    // A fetch applies delete rules before its own read. Objects that the hook loads must not wait for the end of that
    // fetch.
    let depth = storage.loads.depth
    storage.loads.depth = 0
    callingHooks { object.prepareForDeletion() }
    storage.loads.depth = depth
    object.flags.remove(.preparingDeletion)
  }
}

extension ManagedObject {
  /// Whether the object has loaded values for which `awakeFromFetch` was not called.
  @inline(__always) final var isAsleep: Bool { row != nil && flags.isDisjoint(with: [.awake, .detached]) }

  final var hasNoValues: Bool { row == nil && pending == nil }

  /// Whether the object has values of a saved record to lose.
  fileprivate final var mayTurnIntoFault: Bool {
    guard flags.isDisjoint(with: [.detached, .turningIntoFault]) else { return false }
    if let pending { return pending.base != nil }
    return row != nil
  }

  /// Calls `awakeFromFetch` if the object has values for which it was not called.
  @inline(__always) fileprivate final func awaken() {
    guard isAsleep else { return }
    flags.insert(.awake)
    awakeFromFetch()
  }

  /// Gives a fault its row, which ends an earlier failure to load it. `awakeFromFetch` is called when the running read
  /// ends.
  final func fill(with row: Row) {
    self.row = row
    if !flags.contains(.awake) { storage?.loads.append(self) }
    if !flags.isDisjoint(with: [.unavailable, .missing]) { becomeAvailable() }
  }

  /// Records that the object has its values again. A save may then save changes of the object.
  @inline(never) private final func becomeAvailable() {
    flags.subtract([.unavailable, .missing])
    storage?.vanished.missing.remove(recordID)
  }
}
