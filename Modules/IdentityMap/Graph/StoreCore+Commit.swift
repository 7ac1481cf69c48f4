extension StoreCore {
  /// Ends a transaction.
  /// - Returns: What has to be done when the lock is free.
  func commit() -> DeferredWork? {
    endMarkedObservations()
    // Dropping a node can change others, and telling of a change can drop nodes.
    while !loose.isEmpty || tables.hasOverdue { dropUnheld() }
    settleQueries()
    putContentsFirst()
    // What an observer of a query sees is settled by now.
    for node in changed { post(node) }
    changed.removeAll(keepingCapacity: changed.count < 1024)
    forgetStamped()
    hasWork = !loose.isEmpty || tables.hasOverdue
    guard !aftermath.isEmpty else { return nil }
    let work = aftermath
    aftermath = DeferredWork()
    lastLetGo = nil
    return work
  }

  private func post(_ node: Node) {
    node.flags.remove(.changed)
    guard let relations = node.relations else { return }
    for audience in relations.audiences where audience.mailbox.post(audience) {
      aftermath.mailboxes.append(audience.mailbox)
    }
  }

  /// From the next transaction on, another value with the same stamp comes too late.
  private func forgetStamped() {
    guard !stamped.isEmpty else { return }
    for node in stamped { node.flags.remove(.stamped) }
    stamped.removeAll(keepingCapacity: stamped.count < 1024)
  }

  /// Has each entity come before what contains it. Those of the same height stay in the order in which they changed.
  private func putContentsFirst() {
    var highest: Int32 = 0
    for node in changed {
      let height = node.heightAmongChanges
      guard height < highest else {
        highest = height
        continue
      }
      let sorted = changed.enumerated().sorted {
        ($0.element.heightAmongChanges, $0.offset) < ($1.element.heightAmongChanges, $1.offset)
      }
      changed = sorted.map(\.element)
      return
    }
  }

  private func settleQueries() {
    guard !tables.withQueries.isEmpty else { return }
    for node in changed where node.flags.contains(.queried) { node.tellQueries(isTold: true) }
    for table in tables.withQueries { table.settleQueries() }
  }
}

/// What waits until the lock is free, because it runs code that is not the store's.
struct DeferredWork {
  /// What the logger is told.
  var events: [() -> Void] = []
  /// Mailboxes with something in them that nobody is on the way to.
  var mailboxes: [DeliveryQueue] = []
  /// Values and closures that go.
  var refuse: [AnyObject] = []

  var isEmpty: Bool { events.isEmpty && mailboxes.isEmpty && refuse.isEmpty }

  func run() {
    for event in events { event() }
    for mailbox in mailboxes { mailbox.schedule() }
  }
}
