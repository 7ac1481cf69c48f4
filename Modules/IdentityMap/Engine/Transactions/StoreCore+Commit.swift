extension StoreCore {
  /// Ends a transaction.
  /// - Returns: What has to be done when the lock is free.
  func commit() -> DeferredWork? {
    endScheduledObservations()
    // Dropping a node can change others, and telling of a change can drop nodes.
    while !releaseCandidates.isEmpty || tables.hasOverdue { evictUnreferenced() }
    refreshQueries()
    sortChanges()
    // What an observer of a query sees is settled by now.
    for node in changed { post(node) }
    changed.removeAll(keepingCapacity: changed.count < 1024)
    forgetStamped()
    hasWork = !releaseCandidates.isEmpty || tables.hasOverdue
    guard !deferred.isEmpty else { return nil }
    let work = deferred
    deferred = DeferredWork()
    lastDeferredReleases = nil
    return work
  }

  private func post(_ node: Node) {
    node.flags.remove(.changed)
    guard let relations = node.relations else { return }
    for group in relations.observerGroups where group.queue.post(group) {
      deferred.queues.append(group.queue)
    }
  }

  /// From the next transaction on, another value with the same stamp comes too late.
  private func forgetStamped() {
    guard !stamped.isEmpty else { return }
    for node in stamped { node.flags.remove(.stamped) }
    stamped.removeAll(keepingCapacity: stamped.count < 1024)
  }

  /// Has each entity come before what contains it. Those of the same height stay in the order in which they changed.
  private func sortChanges() {
    var highest: Int32 = 0
    for node in changed {
      let height = node.notificationOrder
      guard height < highest else {
        highest = height
        continue
      }
      let sorted = changed.enumerated().sorted {
        ($0.element.notificationOrder, $0.offset) < ($1.element.notificationOrder, $1.offset)
      }
      changed = sorted.map(\.element)
      return
    }
  }

  private func refreshQueries() {
    guard !tables.withQueries.isEmpty else { return }
    for node in changed where node.flags.contains(.queried) { node.notifyQueries(isReported: true) }
    for table in tables.withQueries { table.refreshQueries() }
  }
}

/// What waits until the lock is free, because it runs code that is not the store's.
struct DeferredWork {
  /// What the logger is told.
  var events: [() -> Void] = []
  /// Mailboxes with something in them that nobody is on the way to.
  var queues: [DeliveryQueue] = []
  /// Values and closures that go.
  var deferredReleases: [AnyObject] = []

  var isEmpty: Bool { events.isEmpty && queues.isEmpty && deferredReleases.isEmpty }

  func run() {
    for event in events { event() }
    for queue in queues { queue.schedule() }
  }
}
