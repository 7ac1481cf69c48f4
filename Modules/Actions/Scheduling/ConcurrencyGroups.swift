/// The slots of the concurrency limits, and the actions that wait for a slot.
///
/// A group belongs to the name of a ``ConcurrencyLimit``. It exists while an action holds or awaits one of its slots.
struct ConcurrencyGroups<Item: QueuedAction> {
  private var groups: [String: Group] = [:]

  private struct Group {
    var maximum: Int
    var holders: [ObjectIdentifier: Item] = [:]
    var backlog = ActionBacklog<Item>()

    var isUnused: Bool { holders.isEmpty && backlog.isEmpty }

    /// Gives the free slots to the first actions of the backlog, and returns these actions.
    mutating func fillSlots() -> [Item] {
      var next: [Item] = []
      while holders.count < maximum, let action = backlog.popFirst() {
        guard action.isPending else { continue }
        holders[ObjectIdentifier(action)] = action
        next.append(action)
      }
      return next
    }
  }

  /// Appends an action to the backlog of its group, and gives the free slots to the first actions of the backlog. A
  /// limit with a greater maximum than before may have slots for several actions.
  ///
  /// - Parameter asksForFirstTime: Whether the maximum of the action's limit becomes the maximum of the group. A later
  ///   attempt of an old action must not replace the maximum of a newer one.
  /// - Returns: The actions that received a slot, the given action or earlier ones among them.
  mutating func acquireSlot(of limit: ConcurrencyLimit, for action: Item, asksForFirstTime: Bool) -> [Item] {
    var group = groups.removeValue(forKey: limit.name) ?? Group(maximum: limit.maximum)
    defer { groups[limit.name] = group.isUnused ? nil : group }
    if asksForFirstTime { group.maximum = limit.maximum }
    group.backlog.append(action)
    return group.fillSlots()
  }

  /// Releases the slot of an action, or withdraws the action from the backlog.
  ///
  /// - Returns: The waiting actions that received a slot.
  mutating func releaseSlot(of limit: ConcurrencyLimit, by action: Item) -> [Item] {
    guard var group = groups.removeValue(forKey: limit.name) else { return [] }
    defer { groups[limit.name] = group.isUnused ? nil : group }
    if group.holders.removeValue(forKey: ObjectIdentifier(action)) == nil { group.backlog.didWithdraw() }
    return group.fillSlots()
  }

  /// Moves an action that waits for a slot behind the actions of its new, higher priority.
  mutating func raise(_ action: Item, waitingFor limit: ConcurrencyLimit) {
    groups[limit.name]?.backlog.raise(action)
  }

  /// The actions that hold the slots of a limit; empty if the action has a slot, or would get one now.
  ///
  /// - Parameter asksForFirstTime: Whether the action has yet to ask for its first slot; see
  ///   ``acquireSlot(of:for:asksForFirstTime:)``.
  func holders(of limit: ConcurrencyLimit, for action: Item, asksForFirstTime: Bool) -> [Item] {
    guard let group = groups[limit.name], group.holders[ObjectIdentifier(action)] == nil,
      group.holders.count >= (asksForFirstTime ? limit.maximum : group.maximum)
    else { return [] }
    return Array(group.holders.values)
  }
}
