/// The nested entities of a value, which may be the stored value of a node or any other value.
extension EntityTable {
  /// Returns the nodes of the entities in a value, in their order, present or absent.
  func contents(of value: T) -> [Node] {
    guard let plan = plan(for: value) else { return [] }
    var collector = ChildCollector(core: core, stamp: nil, mode: .lookingUp)
    plan.collect(value, into: &collector)
    return collector.children
  }

  /// Removes another entity from a value.
  /// - Returns: Whether the value remains usable: it does not require the entity, and its identifier is unchanged.
  func remove(_ other: Node, from value: inout T) -> Bool {
    guard let plan = plan(for: value) else { return true }
    let id = value.id
    return LinkCursor.walk(over: contents(of: value), removing: other) { !plan.remove(from: &value, along: &$0) }
      && value.id == id
  }

  /// Removes several entities from a value.
  /// - Returns: Whether the value remains usable, as in ``remove(_:from:)``.
  func removeAll(_ others: Set<ObjectIdentifier>, from value: inout T) -> Bool {
    guard let plan = plan(for: value) else { return true }
    let id = value.id
    return LinkCursor.walk(over: contents(of: value), removingAll: others) { !plan.remove(from: &value, along: &$0) }
      && value.id == id
  }
}
