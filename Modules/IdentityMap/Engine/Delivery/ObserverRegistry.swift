/// The groups of observers of all nodes, and the observations that a clear ends.
struct ObserverRegistry {
  private var groups: [ObjectIdentifier: AnyObserverGroup] = [:]
  /// Observations that end with the running transaction.
  var ending: [(group: AnyObserverGroup, observations: [AnyObservation])] = []

  mutating func add(_ group: AnyObserverGroup) {
    groups[ObjectIdentifier(group)] = group
  }

  /// - Returns: Whether the group was in the registry.
  mutating func remove(_ group: AnyObserverGroup) -> Bool {
    groups.removeValue(forKey: ObjectIdentifier(group)) != nil
  }

  /// Schedules the end of all present observations, with the transaction.
  mutating func scheduleEnd() {
    ending += groups.values.map { ($0, $0.all) }
  }

  /// Returns the observations to end, once.
  mutating func takeEnding() -> [(group: AnyObserverGroup, observations: [AnyObservation])] {
    defer { ending = [] }
    return ending
  }
}
