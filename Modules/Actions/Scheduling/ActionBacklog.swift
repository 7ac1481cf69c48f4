import DequeModule

/// The position of a waiting action: by priority, then by the number of its arrival. The first position is the smallest.
struct QueuePosition: Comparable {
  let priority: Int
  let arrival: Int

  static func < (one: QueuePosition, other: QueuePosition) -> Bool {
    one.priority == other.priority ? one.arrival < other.arrival : one.priority > other.priority
  }
}

/// A priority queue of waiting actions. Actions of one priority are in the order of arrival.
///
/// A withdrawn action stays in the backlog until it is popped or compacted away: removing it from the middle at once
/// would cost time proportional to the length of the backlog.
struct ActionBacklog<Item: QueuedAction> {
  private struct Entry {
    let action: Item
    let arrival: Int
  }

  private var deques = Array(repeating: Deque<Entry>(), count: ActionPriority.allCases.count)
  /// The number of withdrawals since the backlog was compacted; at least the number of stored withdrawn actions.
  private var withdrawnCount = 0
  /// The number of stored actions, including withdrawn actions that still await their removal.
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  /// The actions that still wait, the next action first.
  var pending: [Item] {
    deques.reversed().flatMap { deque in deque.compactMap { $0.action.isPending ? $0.action : nil } }
  }

  /// Appends an action to those of its priority.
  ///
  /// - Parameter arrival: The number of the arrival, for the comparison with actions of other backlogs. The numbers of
  ///   one backlog grow.
  mutating func append(_ action: Item, arrival: Int = 0) {
    deques[action.priority.rawValue].append(Entry(action: action, arrival: arrival))
    count += 1
  }

  /// Removes and returns the next action, which may be withdrawn; `nil` when the backlog is empty.
  mutating func popFirst() -> Item? {
    guard let priority = deques.lastIndex(where: { !$0.isEmpty }) else { return nil }
    count -= 1
    return deques[priority].popFirst()?.action
  }

  /// Removes the withdrawn actions in front, and returns the next action with its position; `nil` when no action waits.
  mutating func firstPending() -> (action: Item, position: QueuePosition)? {
    while let priority = deques.lastIndex(where: { !$0.isEmpty }), let entry = deques[priority].first {
      if entry.action.isPending {
        return (entry.action, QueuePosition(priority: priority, arrival: entry.arrival))
      }
      deques[priority].removeFirst()
      count -= 1
    }
    return nil
  }

  /// Moves an action behind the actions of its new, higher priority. Does nothing for an action outside of the backlog.
  ///
  /// - Parameter arrival: The number of the action among the actions of its new priority; see `append`.
  mutating func raise(_ action: Item, arrival: Int = 0) {
    let newPriority = action.priority.rawValue
    for priority in 0..<newPriority {
      guard let index = deques[priority].firstIndex(where: { $0.action === action }) else { continue }
      deques[priority].remove(at: index)
      deques[newPriority].append(Entry(action: action, arrival: arrival))
      return
    }
  }

  /// Counts a withdrawal, which may concern an action outside of the backlog. Compacts the backlog when the withdrawals
  /// are more than 64 and more than half of the stored actions, so that the amortized cost per withdrawal is constant.
  mutating func didWithdraw() {
    withdrawnCount += 1
    guard withdrawnCount > 64, withdrawnCount > count / 2 else { return }
    for priority in deques.indices { deques[priority].removeAll { !$0.action.isPending } }
    count = deques.reduce(0) { $0 + $1.count }
    withdrawnCount = 0
  }
}
