import Synchronization

/// The units of work of the running turn of the main queue, of all contexts.
enum MainTurns {
  private struct Unit {
    let context: ObjectIdentifier
    let end: @Sendable () -> Void
  }

  /// Changed on the main actor; the lock proves it to the compiler.
  private static let units = Mutex<[Unit]>([])
  /// The thread that began the running turn; zero between turns.
  private static let thread = Atomic<UInt>(0)

  /// Whether the calling thread runs a turn, also where it is not known to be the main actor: in the `sync` of another
  /// queue, called by a block of the main queue. Possibly `true` for other work of the thread between a turn and the
  /// block that ends it.
  static var isOnCallingThread: Bool { thread.load(ordering: .relaxed) == currentThread }

  /// Adds a context whose turn begins.
  ///
  /// - Parameter end: Ends the context's unit of work and releases its readers. Called on the main actor.
  static func add(_ context: AnyObject, end: @escaping @Sendable () -> Void) {
    units.withLock { $0.append(Unit(context: ObjectIdentifier(context), end: end)) }
    thread.store(currentThread, ordering: .relaxed)
  }

  /// Removes a context whose turn has ended.
  static func remove(_ context: AnyObject) {
    let isLast = units.withLock { units in
      units.removeAll { $0.context == ObjectIdentifier(context) }
      return units.isEmpty
    }
    if isLast { thread.store(0, ordering: .relaxed) }
  }

  /// Ends the units of work of all contexts, before the main actor waits for work of other threads, or attaches or
  /// detaches a store: their readers would be in the way, and the turn's code expects to see the effect. Does nothing off
  /// the main actor.
  static func endUnits() {
    guard Confinement.isOnMain else { return }
    for unit in units.withLock({ $0 }) { unit.end() }
  }
}
