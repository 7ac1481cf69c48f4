/// The work that operations leave for the commit.
///
/// A node is in a list exactly while it has the flag of that list. Added work raises ``hasWork``; operations without
/// work skip the commit.
@usableFromInline
struct PendingWork {
  var hasWork = false
  /// Nodes whose observers are notified; flag `changed`.
  var changed: [Node] = []
  /// Nodes whose stamp the transaction has set; flag `stamped`.
  private var stamped: [Node] = []
  /// Nodes that the commit evicts unless they are retained; flag `evictionCandidate`.
  var evictionCandidates: [Node] = []
  /// The work that waits until the lock is free.
  var deferred = DeferredWork()
  /// The latest list of deferred releases, with its type: successive releases are mostly of one type.
  @usableFromInline var lastDeferredReleases: (type: ObjectIdentifier, list: UnsafeMutableRawPointer)?

  /// Has the outermost operation commit for work outside of these lists, such as lifetimes over their limits.
  mutating func requireCommit() {
    hasWork = true
  }

  mutating func addChanged(_ node: Node) {
    guard !node.flags.contains(.changed) else { return }
    node.flags.insert(.changed)
    changed.append(node)
    hasWork = true
  }

  mutating func addStamped(_ node: Node) {
    guard !node.flags.contains(.stamped) else { return }
    node.flags.insert(.stamped)
    stamped.append(node)
    hasWork = true
  }

  mutating func addEvictionCandidate(_ node: Node) {
    guard !node.flags.contains(.evictionCandidate) else { return }
    node.flags.insert(.evictionCandidate)
    evictionCandidates.append(node)
    hasWork = true
  }

  /// Has a closure called when the lock is free.
  mutating func addEvent(_ event: @escaping () -> Void) {
    deferred.events.append(event)
    hasWork = true
  }

  /// Has a queue deliver when the lock is free.
  mutating func schedule(_ queue: DeliveryQueue) {
    deferred.queues.append(queue)
    hasWork = true
  }

  /// Releases an object when the lock is free.
  mutating func release(_ object: AnyObject) {
    deferred.deferredReleases.append(object)
    hasWork = true
  }

  // MARK: Commit

  /// Removes a candidate from the list and returns it; `nil` when none is left.
  mutating func nextEvictionCandidate() -> Node? {
    guard let node = evictionCandidates.popLast() else { return nil }
    node.flags.remove(.evictionCandidate)
    return node
  }

  /// Forgets the changed nodes, whose observers are scheduled. The commit has removed their flags with the scheduling.
  /// The list of a bulk change is not kept: it would retain its memory as long as the store.
  mutating func clearChanged() {
    changed.removeAll(keepingCapacity: changed.count < 1024)
  }

  /// Removes the flag `stamped` from all nodes at the end of a transaction: later values with an equal stamp are
  /// rejected.
  mutating func clearStamped() {
    guard !stamped.isEmpty else { return }
    for node in stamped { node.flags.remove(.stamped) }
    stamped.removeAll(keepingCapacity: stamped.count < 1024)
  }

  /// Ends the commit.
  /// - Parameter isIncomplete: Whether the next operation has to commit too, because the closure of a query has used
  ///   the store and so made nodes candidates for eviction.
  /// - Returns: The work to do when the lock is free.
  mutating func finishCommit(isIncomplete: Bool) -> DeferredWork? {
    hasWork = isIncomplete
    guard !deferred.isEmpty else { return nil }
    let work = deferred
    deferred = DeferredWork()
    lastDeferredReleases = nil
    return work
  }

  // MARK: Rollback

  /// Forgets the changed nodes from an index on, and returns them.
  mutating func removeChanged(from index: Int) -> ArraySlice<Node> {
    let removed = changed[index...]
    changed.removeSubrange(index...)
    for node in removed { node.flags.remove(.changed) }
    return removed
  }

  /// Forgets the events from an index on.
  mutating func removeEvents(from index: Int) {
    deferred.events.removeSubrange(index...)
  }
}

/// Work that waits until the lock is free, because it runs code of the user. The values of ``deferredReleases`` are
/// released with the work, after ``run()``.
struct DeferredWork {
  /// Calls of the logger and of closures that end observations.
  var events: [() -> Void] = []
  /// Queues with notifications to schedule.
  var queues: [DeliveryQueue] = []
  /// Values, nodes and closures to release.
  var deferredReleases: [AnyObject] = []

  var isEmpty: Bool { events.isEmpty && queues.isEmpty && deferredReleases.isEmpty }

  func run() {
    for event in events { event() }
    for queue in queues { queue.schedule() }
  }
}
