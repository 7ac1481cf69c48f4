import DequeModule

/// Actions that wait for a place, in the order in which they get one: by priority, then as they came.
///
/// A withdrawn action stays in its line until it is met, or until too many are withdrawn: taking an action out of the
/// middle would cost as much as the line is long, each time.
struct ActionBacklog {
  private var lines = Array(repeating: Deque<AnyActionHandle>(), count: ActionPriority.allCases.count)
  private var withdrawn = 0
  /// The number of actions, including the withdrawn ones not met yet.
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  /// Those that wait.
  var pending: [AnyActionHandle] { lines.reversed().flatMap { $0.filter(\.isPending) } }

  mutating func append(_ handle: AnyActionHandle) {
    lines[handle.priority.rawValue].append(handle)
    count += 1
  }

  /// The next one. It may have been withdrawn.
  mutating func popFirst() -> AnyActionHandle? {
    guard let line = lines.lastIndex(where: { !$0.isEmpty }) else { return nil }
    count -= 1
    return lines[line].popFirst()
  }

  /// Moves an action, if it waits here, to the end of the line of its priority, which was raised.
  mutating func raise(_ handle: AnyActionHandle) {
    let priority = handle.priority.rawValue
    for line in 0..<priority {
      guard let index = lines[line].firstIndex(where: { $0 === handle }) else { continue }
      lines[line].remove(at: index)
      lines[priority].append(handle)
      return
    }
  }

  /// One of the actions does not wait any more. The work that this makes is, on average, the same for each.
  mutating func didWithdraw() {
    withdrawn += 1
    guard withdrawn > 64, withdrawn > count / 2 else { return }
    for line in lines.indices { lines[line].removeAll { !$0.isPending } }
    count = lines.reduce(0) { $0 + $1.count }
    withdrawn = 0
  }
}
