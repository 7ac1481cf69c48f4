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
/// A withdrawn action, and the former entry of a raised action, stay in the backlog until they are in front or compacted
/// away: removing an entry from the middle at once would cost time proportional to the length of the backlog.
struct ActionBacklog<Item: QueuedAction> {
  private struct Entry {
    let action: Item
    let arrival: Int
  }

  private var deques = Array(repeating: Deque<Entry>(), count: ActionPriority.allCases.count)
  /// The indices of the deques in which the actions wait, made by the first raise; `nil` while each entry is the only one
  /// of its action. An entry in another deque is a former entry of a raised action.
  private var indices: [ObjectIdentifier: Int]?
  /// The number of withdrawals and raises since the backlog was compacted; at least the number of stored withdrawn
  /// actions and former entries.
  private var obsoleteCount = 0
  /// The number of stored actions, including withdrawn actions that still await their removal.
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  /// The actions that still wait, the next action first.
  var pending: [Item] {
    deques.indices.reversed().flatMap { index in
      deques[index].compactMap { waits($0.action, in: index) && $0.action.isPending ? $0.action : nil }
    }
  }

  /// Whether an action of a deque is in no deque of a higher priority.
  private func waits(_ action: Item, in index: Int) -> Bool {
    guard let indices else { return true }
    return indices[ObjectIdentifier(action)] == index
  }

  /// Appends an action to those of its priority.
  ///
  /// - Parameter arrival: The number of the arrival, for the comparison with actions of other backlogs. The numbers of
  ///   one backlog grow.
  mutating func append(_ action: Item, arrival: Int = 0) {
    let index = action.priority.rawValue
    deques[index].append(Entry(action: action, arrival: arrival))
    indices?[ObjectIdentifier(action)] = index
    count += 1
  }

  /// Removes and returns the next action, which may be withdrawn; `nil` when the backlog is empty.
  mutating func popFirst() -> Item? {
    guard let (index, entry) = first() else { return nil }
    removeFirst(of: index)
    return entry.action
  }

  /// Removes the withdrawn actions in front, and returns the next action with its position; `nil` when no action waits.
  mutating func firstPending() -> (action: Item, position: QueuePosition)? {
    while let (index, entry) = first() {
      if entry.action.isPending {
        return (entry.action, QueuePosition(priority: index, arrival: entry.arrival))
      }
      removeFirst(of: index)
    }
    return nil
  }

  /// Removes the former entries in front, and returns the next entry with the index of its deque.
  private mutating func first() -> (index: Int, entry: Entry)? {
    while let index = deques.lastIndex(where: { !$0.isEmpty }), let entry = deques[index].first {
      if waits(entry.action, in: index) { return (index, entry) }
      deques[index].removeFirst()
    }
    return nil
  }

  /// Removes the first entry of a deque, in which its action waits.
  private mutating func removeFirst(of index: Int) {
    let action = deques[index].removeFirst().action
    count -= 1
    guard indices != nil else { return }
    indices?[ObjectIdentifier(action)] = nil
    // The other deques have former entries only.
    if count == 0 { compact() }
  }

  /// Moves an action behind the actions of its new, higher priority. Does nothing for an action outside of the backlog.
  ///
  /// The cost is amortized: the first raise makes a table of all waiting actions, and a number of raises proportional to
  /// the length of the backlog compacts the backlog.
  ///
  /// - Parameter arrival: The number of the action among the actions of its new priority; see `append`.
  mutating func raise(_ action: Item, arrival: Int = 0) {
    guard count > 0 else { return }
    if indices == nil { makeIndices() }
    let newIndex = action.priority.rawValue
    guard let index = indices?[ObjectIdentifier(action)], index < newIndex else { return }
    indices?[ObjectIdentifier(action)] = newIndex
    deques[newIndex].append(Entry(action: action, arrival: arrival))
    noteObsoleteEntry()
  }

  private mutating func makeIndices() {
    var indices: [ObjectIdentifier: Int] = [:]
    indices.reserveCapacity(count)
    for (index, deque) in deques.enumerated() {
      for entry in deque { indices[ObjectIdentifier(entry.action)] = index }
    }
    self.indices = indices
  }

  /// Counts a withdrawal, which may concern an action outside of the backlog.
  mutating func didWithdraw() { noteObsoleteEntry() }

  /// Compacts the backlog when the withdrawals and raises are more than 64 and more than half of the stored actions, so
  /// that the amortized cost of each is constant.
  private mutating func noteObsoleteEntry() {
    obsoleteCount += 1
    if obsoleteCount > 64, obsoleteCount > count / 2 { compact() }
  }

  /// Removes the withdrawn actions and the former entries.
  private mutating func compact() {
    let waiting = indices
    for index in deques.indices {
      deques[index].removeAll { entry in
        if let waiting, waiting[ObjectIdentifier(entry.action)] != index { return true }
        return !entry.action.isPending
      }
    }
    count = deques.reduce(0) { $0 + $1.count }
    indices = nil
    obsoleteCount = 0
  }
}
