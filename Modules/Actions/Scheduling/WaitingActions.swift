import DequeModule

/// The waiting actions of one queue. They begin by priority, then in the order of arrival.
///
/// An action with a concurrency limit begins only with a slot of the limit. While the limit has no free slot, the
/// actions behind such an action begin first.
struct WaitingActions<Item: QueuedAction> {
  /// The actions without a limit.
  private var unlimited = ActionBacklog<Item>()
  /// The actions with a limit, by the name of the limit.
  private var limited: [String: LimitedActions] = [:]
  /// The limits by the positions of their first actions. A program may have a limit for each of many records, so that no
  /// start searches all limits. An entry counts as long as its limit has the same position.
  private var order: Deque<LimitPosition> = []
  /// The numbers of actions that have begun in place of the first action of a limit, which had no slot.
  private var overtakingCounts: [String: Int] = [:]

  /// The actions of one limit.
  private struct LimitedActions {
    var backlog = ActionBacklog<Item>()
    /// The position in the order of the limits.
    var position: QueuePosition?
  }

  /// A limit in the order of the limits.
  private struct LimitPosition {
    let name: String
    let position: QueuePosition
  }

  var hasUnlimited: Bool { !unlimited.isEmpty }
  var hasLimited: Bool { !limited.isEmpty }

  /// The actions that still wait, in no particular order.
  var pending: [Item] { unlimited.pending + limited.values.flatMap(\.backlog.pending) }

  mutating func append(_ action: Item, arrival: Int) {
    guard let limit = action.limit else { return unlimited.append(action, arrival: arrival) }
    limited[limit.name, default: LimitedActions()].backlog.append(action, arrival: arrival)
    updateOrder(ofLimit: limit.name)
  }

  /// Removes and returns the first action ready to begin. An action without a limit may be withdrawn.
  ///
  /// - Parameter acquiresSlot: Takes a slot for an action, or returns false.
  mutating func popFirst(acquiresSlot: (Item) -> Bool) -> Item? {
    var action: Item?
    var refused: [LimitPosition] = []
    while action == nil, let next = firstLimited() {
      if let other = unlimited.firstPending(), other.position < next.limit.position { break }
      if acquiresSlot(next.action) {
        order.removeFirst()
        action = limited[next.limit.name]?.backlog.popFirst()
        overtakingCounts[next.limit.name] = nil
        updateOrder(ofLimit: next.limit.name)
      } else if next.action.isPending {
        // An action withdrawn just now gets no slot, although its limit may have one for the next action.
        refused.append(order.removeFirst())
      }
    }
    order.prepend(contentsOf: refused)
    action = action ?? unlimited.popFirst()
    if action != nil { for limit in refused { overtakingCounts[limit.name, default: 0] += 1 } }
    return action
  }

  /// The first limit of the order, with its first action. Removes the entries in front that do not count any more.
  private mutating func firstLimited() -> (limit: LimitPosition, action: Item)? {
    while let limit = order.first {
      let isPresent = limited[limit.name]?.position == limit.position
      if isPresent, let next = limited[limit.name]?.backlog.firstPending(), next.position == limit.position {
        return (limit, next.action)
      }
      order.removeFirst()
      if isPresent { updateOrder(ofLimit: limit.name) }
    }
    return nil
  }

  /// Gives a limit its place in the order after a change of its first action.
  private mutating func updateOrder(ofLimit name: String) {
    guard let position = firstPosition(ofLimit: name) else {
      limited[name] = nil
      overtakingCounts[name] = nil
      return
    }
    guard limited[name]?.position != position else { return }
    limited[name]?.position = position
    // Entries behind a limit without a free slot would otherwise stay as long as the limit.
    if order.count > 64 + 2 * limited.count {
      let limited = limited
      order.removeAll { limited[$0.name]?.position != $0.position }
    }
    var (start, end) = (0, order.count)
    while start < end {
      let middle = (start + end) / 2
      if order[middle].position < position { start = middle + 1 } else { end = middle }
    }
    // The action may have been the first one before a raised action.
    if start < order.count, order[start].position == position { return }
    order.insert(LimitPosition(name: name, position: position), at: start)
  }

  /// The position of the first action of a limit; `nil` when no action of the limit waits.
  mutating func firstPosition(ofLimit name: String) -> QueuePosition? {
    limited[name]?.backlog.firstPending()?.position
  }

  /// Moves an action behind the actions of its new, higher priority.
  mutating func raise(_ action: Item, arrival: Int) {
    guard let name = action.limit?.name else { return unlimited.raise(action, arrival: arrival) }
    limited[name]?.backlog.raise(action, arrival: arrival)
    updateOrder(ofLimit: name)
  }

  /// Counts a withdrawal, which may concern an action that does not wait here; see ``ActionBacklog/didWithdraw()``.
  mutating func didWithdraw(_ action: Item) {
    guard let name = action.limit?.name else { return unlimited.didWithdraw() }
    limited[name]?.backlog.didWithdraw()
    updateOrder(ofLimit: name)
  }

  // MARK: Overdue actions

  /// Whether so many actions have overtaken the first action of a limit that the next slot has to be kept for it.
  func isOverdue(limit name: String) -> Bool { overtakingCounts[name, default: 0] >= maximumOvertakingCount }

  /// Begins the count of overtaking actions anew.
  mutating func forgetOvertaking() { overtakingCounts = [:] }
}

/// The number of later actions that begin in place of an action without a slot, before a slot is kept for the action.
private let maximumOvertakingCount = 16
