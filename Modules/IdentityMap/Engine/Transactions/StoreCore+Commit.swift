/// The commit at the end of the outermost operation: evictions, then queries, then notifications.
extension StoreCore {
  /// Commits the outermost operation.
  /// - Returns: The work to do when the lock is free; `nil` without any.
  func commit() -> DeferredWork? {
    endScheduledObservations()
    // An eviction can change other nodes, and an expiry can make nodes candidates for eviction.
    while hasEvictions { evictUnreferenced() }
    updateQueries()
    sortChanges()
    // After the queries, whose results have changed with their entities.
    for node in pending.changed { notifyObservers(of: node) }
    pending.clearChanged()
    pending.clearStamped()
    return pending.finishCommit(isIncomplete: hasEvictions)
  }

  private var hasEvictions: Bool { !pending.evictionCandidates.isEmpty || tables.hasOverdue }

  private func notifyObservers(of node: Node) {
    node.flags.remove(.changed)
    guard let relations = node.relations else { return }
    for group in relations.observerGroups where group.queue.post(group) { pending.schedule(group.queue) }
  }

  /// Sorts the changed nodes so that entities are delivered before the aggregates that contain them. Nodes of the same
  /// height stay in the order in which they changed.
  private func sortChanges() {
    // Most changes are in order already: only a node below an earlier one makes a sort necessary.
    var highest: Int32 = 0
    for node in pending.changed {
      let height = node.notificationOrder
      guard height < highest else {
        highest = height
        continue
      }
      let sorted = pending.changed.enumerated().sorted {
        ($0.element.notificationOrder, $0.offset) < ($1.element.notificationOrder, $1.offset)
      }
      pending.changed = sorted.map(\.element)
      return
    }
  }

  private func updateQueries() {
    guard !tables.withQueries.isEmpty else { return }
    for node in pending.changed where node.flags.contains(.queried) { node.notifyQueries(isReported: true) }
    for table in tables.withQueries { table.updateQueries() }
  }
}
