import Synchronization

/// Which actions can end while another one waits for some of them, and so cannot.
///
/// A running action can end when the actions that it waits for have ended. A pending action can begin when its
/// obstacles can end: its dependencies, a holder of the place that its concurrency limit lacks, or one of the actions
/// in the lanes of its queue. Actions that remain after removing every finishable action form a cycle.
struct WaitOutlook {
  private let waiter: AnyActionHandle
  /// By action, those that need it.
  private var dependents: [ObjectIdentifier: [AnyActionHandle]] = [:]
  /// By action, how many of the others have still to end.
  private var missing: [ObjectIdentifier: Int] = [:]
  private var ending: [AnyActionHandle] = []

  init(of awaited: [AnyActionHandle], for waiter: AnyActionHandle) {
    self.waiter = waiter
    explore(from: awaited)
    while let handle = ending.popLast() {
      for dependent in dependents[ObjectIdentifier(handle)] ?? [] { lessen(dependent) }
    }
  }

  func canFinish(_ handle: AnyActionHandle) -> Bool { missing[ObjectIdentifier(handle), default: 1] <= 0 }

  // MARK: Looking

  /// Looks at all actions on the way once, however many ways lead to one.
  private mutating func explore(from awaited: [AnyActionHandle]) {
    var frontier = awaited
    while let handle = frontier.popLast() {
      guard handle !== waiter, missing[ObjectIdentifier(handle)] == nil else { continue }
      let need = need(of: handle)
      missing[ObjectIdentifier(handle)] = need.count
      if need.count == 0 { ending.append(handle) }
      for other in need.others { dependents[ObjectIdentifier(other), default: []].append(handle) }
      frontier += need.others
    }
  }

  private mutating func lessen(_ handle: AnyActionHandle) {
    let count = missing[ObjectIdentifier(handle), default: 1] - 1
    missing[ObjectIdentifier(handle)] = count
    if count == 0 { ending.append(handle) }
  }

  // MARK: Needs

  /// How many of others have to end before an action can.
  private struct Need {
    let count: Int
    let others: [AnyActionHandle]

    static let nothing = Need(count: 0, others: [])
    static let whatWillNotBe = Need(count: 1, others: [])
    static func all(_ others: [AnyActionHandle]) -> Need { Need(count: others.count, others: others) }
    static func any(_ others: [AnyActionHandle]) -> Need { Need(count: min(1, others.count), others: others) }
  }

  private func need(of handle: AnyActionHandle) -> Need {
    let (state, awaited) = handle.life.withLock { ($0.state, $0.awaited) }
    if state == .finished { return .nothing }
    if state == .executing { return .all(awaited) }
    switch handle.queue.obstacle(of: handle) {
    case .none, .gate(.delay): return .nothing
    // Its Connect is stopping, and waits for the one that would wait.
    case .gate(.start): return handle.dispatcher === waiter.dispatcher ? .whatWillNotBe : .nothing
    case .gate(.dependencies): return .all(handle.terms?.obstacles.all ?? [])
    case .gate(.limit): return .any(handle.dispatcher.holders(ofPlacesFor: handle))
    case .lanes(let running): return .any(running)
    }
  }
}
