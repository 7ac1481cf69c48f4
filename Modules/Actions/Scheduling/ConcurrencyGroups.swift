/// The places that concurrency limits give out, and the actions that wait for one.
struct ActionGroups {
  private var groups: [String: Group] = [:]

  private struct Group {
    var maximum: Int
    var holders: [ObjectIdentifier: AnyActionHandle] = [:]
    var backlog = ActionBacklog()
  }

  /// Gives the action a place, or puts it in line.
  mutating func takePlace(of limit: ConcurrencyLimit, for handle: AnyActionHandle) -> Bool {
    var group = groups.removeValue(forKey: limit.name) ?? Group(maximum: limit.maximum)
    defer { groups[limit.name] = group }
    group.maximum = limit.maximum
    guard group.holders.count < group.maximum else {
      group.backlog.append(handle)
      return false
    }
    group.holders[ObjectIdentifier(handle)] = handle
    return true
  }

  /// Takes the action's place, if it has one, or its turn, if it waits.
  ///
  /// - Returns: The actions that hold a place now.
  mutating func leave(_ limit: ConcurrencyLimit, _ handle: AnyActionHandle) -> [AnyActionHandle] {
    guard var group = groups.removeValue(forKey: limit.name) else { return [] }
    if group.holders.removeValue(forKey: ObjectIdentifier(handle)) == nil { group.backlog.didWithdraw() }
    var next: [AnyActionHandle] = []
    while group.holders.count < group.maximum, let handle = group.backlog.popFirst() {
      guard handle.isPending else { continue }
      group.holders[ObjectIdentifier(handle)] = handle
      next.append(handle)
    }
    if !group.holders.isEmpty || !group.backlog.isEmpty { groups[limit.name] = group }
    return next
  }

  /// Moves an action, if it waits for a place, forward to its priority, which was raised.
  mutating func raise(_ handle: AnyActionHandle, waitingFor limit: ConcurrencyLimit) {
    groups[limit.name]?.backlog.raise(handle)
  }

  func holders(of limit: ConcurrencyLimit) -> [AnyActionHandle] {
    groups[limit.name].map { Array($0.holders.values) } ?? []
  }
}
