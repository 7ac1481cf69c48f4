/// The slots of the concurrency limits, and the actions that wait for a slot.
///
/// A group belongs to the name of a ``ConcurrencyLimit``. It exists while an action holds or awaits one of its slots.
struct ConcurrencyGroups<Item: QueuedAction> {
  private var groups: [String: Group] = [:]

  private struct Group {
    var maximum: Int
    var holders: [ObjectIdentifier: Item] = [:]
    var backlog = ActionBacklog<Item>()
  }

  /// Gives a slot to an action, or appends the action to the backlog of the group.
  ///
  /// - Returns: Whether the action has a slot.
  mutating func acquireSlot(of limit: ConcurrencyLimit, for action: Item) -> Bool {
    var group = groups.removeValue(forKey: limit.name) ?? Group(maximum: limit.maximum)
    defer { groups[limit.name] = group }
    group.maximum = limit.maximum
    guard group.holders.count < group.maximum else {
      group.backlog.append(action)
      return false
    }
    group.holders[ObjectIdentifier(action)] = action
    return true
  }

  /// Releases the slot of an action, or withdraws the action from the backlog.
  ///
  /// - Returns: The waiting actions that received a slot.
  mutating func releaseSlot(of limit: ConcurrencyLimit, by action: Item) -> [Item] {
    guard var group = groups.removeValue(forKey: limit.name) else { return [] }
    if group.holders.removeValue(forKey: ObjectIdentifier(action)) == nil { group.backlog.didWithdraw() }
    var next: [Item] = []
    while group.holders.count < group.maximum, let action = group.backlog.popFirst() {
      guard action.isPending else { continue }
      group.holders[ObjectIdentifier(action)] = action
      next.append(action)
    }
    if !group.holders.isEmpty || !group.backlog.isEmpty { groups[limit.name] = group }
    return next
  }

  /// Moves an action that waits for a slot behind the actions of its new, higher priority.
  mutating func raise(_ action: Item, waitingFor limit: ConcurrencyLimit) {
    groups[limit.name]?.backlog.raise(action)
  }

  /// The actions that hold the slots of a limit.
  func holders(of limit: ConcurrencyLimit) -> [Item] {
    groups[limit.name].map { Array($0.holders.values) } ?? []
  }
}
