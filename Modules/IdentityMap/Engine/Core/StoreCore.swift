/// The state of a store and its operations, behind one lock.
///
/// An operation takes the lock, changes the graph of nodes, and commits: nodes that nothing retains are evicted,
/// queries are brought up to date, and observers are scheduled. Observers, the logger, and the release of nodes and of
/// values that a rollback discards wait until the lock is free again. Closures that compute a value or a condition, and
/// setters of key paths, run under the lock.
///
/// The replaced value of an entity is released at once: deferring it until the end of the operation would keep every
/// old value of a bulk update alive. It is moved out and released under the lock when its node is consistent again, so
/// that the `deinit` of an object in it may use the store. The copies in aggregates are replaced in place when the
/// aggregates are rebuilt, and released after the operation.
///
/// The state is made of parts, each with its own invariants: ``GraphState``, ``UndoState``, ``PendingWork``,
/// ``ObserverRegistry``, ``OptimisticState`` and ``Instrumentation``. The core owns them, and the nodes reach them
/// through the core: so a node needs one pointer, and a part neither an allocation nor a reference count. Hence the
/// core and each facet of the engine know each other. A mutating method of a part calls no other part, because two
/// accesses of one part must not overlap, and checks of that at run time would cost more than the accesses.
/// Properties that fast paths read have a setter with the same access: to read a property without such a setter, the
/// compiler may copy the whole part.
// Sendable because its state is only touched inside of `exclusively` and, for reading, between `beginReading` and
// `endReading`, which the callers in this module keep to.
//
// Safety of `@exclusivity(unchecked)` in this module: the lock admits one thread at a time for changes, shared reads
// change nothing and end before a thread gets the lock, and each access ends before the next begins.
// Safety of `Unmanaged`, `unowned(unsafe)` and `unsafelyUnwrapped` in this module: the core retains each node until the
// node leaves the graph, which happens under the lock, and a handle outside of the store retains the core.
// Safety of `unsafeDowncast` and `unsafeBitCast` in this module: a table, an alias and a query have nodes of one type,
// and other casts follow a comparison of the types.
@usableFromInline
final class StoreCore: @unchecked Sendable {
  // The state that every operation reads comes first, so that it shares few cache lines.
  @usableFromInline let lock = BiasedLock()
  @usableFromInline let tables = TableDirectory()
  @exclusivity(unchecked) @usableFromInline var undo = UndoState()
  @exclusivity(unchecked) @usableFromInline var instrumentation: Instrumentation
  @exclusivity(unchecked) @usableFromInline var pending = PendingWork()
  @exclusivity(unchecked) var graph = GraphState()
  @exclusivity(unchecked) var optimistic = OptimisticState()
  @exclusivity(unchecked) var observers = ObserverRegistry()
  var aliases = AliasDirectory()
  /// The queues of observers; immutable, so that they can be read without the lock.
  let queues: DeliveryQueues
  /// The time since a fixed start, for lifetimes and staleness.
  let now: @Sendable () -> Duration
  /// The edits of the closure whose result is being stored.
  var edits: UpdateEdits?

  init(delivery: Delivery, log: (any OperationLog)?, now: @escaping @Sendable () -> Duration) {
    queues = DeliveryQueues(standard: delivery)
    instrumentation = Instrumentation(log: log)
    self.now = now
  }

  /// Runs an operation with exclusive access to the store. Within another operation of the same thread, it is a part of
  /// that operation.
  @inlinable @inline(__always)
  func exclusively<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    enter()
    defer { leave() }
    return try body()
  }

  @usableFromInline func enter() {
    lock.lock()
  }

  @usableFromInline func leave() {
    if pending.hasWork && lock.depth == 1 { return leaveWithWork() }
    lock.unlock()
  }

  private func leaveWithWork() {
    // The release of a value can release the last observer of another entity, whose release is an operation of its own.
    StackSpace.forLevel {
      let work = commit()
      lock.unlock()
      work?.run()
    }
  }
}
