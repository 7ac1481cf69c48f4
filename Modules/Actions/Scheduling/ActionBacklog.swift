import DequeModule

/// A priority queue of waiting actions. Actions of one priority are in the order of arrival.
///
/// A withdrawn action stays in the backlog until it is popped or compacted away: removing it from the middle at once
/// would cost time proportional to the length of the backlog.
struct ActionBacklog<Item: QueuedAction> {
  private var deques = Array(repeating: Deque<Item>(), count: ActionPriority.allCases.count)
  /// The number of withdrawals since the backlog was compacted; at least the number of stored withdrawn actions.
  private var withdrawnCount = 0
  /// The number of stored actions, including withdrawn actions that still await their removal.
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  /// The actions that still wait, the next action first.
  var pending: [Item] { deques.reversed().flatMap { $0.filter(\.isPending) } }

  mutating func append(_ action: Item) {
    deques[action.priority.rawValue].append(action)
    count += 1
  }

  /// Removes and returns the next action, which may be withdrawn; `nil` when the backlog is empty.
  mutating func popFirst() -> Item? {
    guard let priority = deques.lastIndex(where: { !$0.isEmpty }) else { return nil }
    count -= 1
    return deques[priority].popFirst()
  }

  /// Moves an action behind the actions of its new, higher priority. Does nothing for an action outside of the backlog.
  mutating func raise(_ action: Item) {
    let newPriority = action.priority.rawValue
    for priority in 0..<newPriority {
      guard let index = deques[priority].firstIndex(where: { $0 === action }) else { continue }
      deques[priority].remove(at: index)
      deques[newPriority].append(action)
      return
    }
  }

  /// Counts a withdrawal, which may concern an action outside of the backlog. Compacts the backlog when the withdrawals
  /// are more than 64 and more than half of the stored actions, so that the amortized cost per withdrawal is constant.
  mutating func didWithdraw() {
    withdrawnCount += 1
    guard withdrawnCount > 64, withdrawnCount > count / 2 else { return }
    for priority in deques.indices { deques[priority].removeAll { !$0.isPending } }
    count = deques.reduce(0) { $0 + $1.count }
    withdrawnCount = 0
  }
}
