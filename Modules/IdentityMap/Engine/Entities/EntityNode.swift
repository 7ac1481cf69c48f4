/// The node of an entity.
@usableFromInline
final class EntityNode<T: Identifiable & Sendable>: ValueNode<T> {
  /// The value, with its nested entities as of the last rebuild; see the flag `dirty`.
  @exclusivity(unchecked) @usableFromInline var value: T

  @inlinable init(_ value: T, core: StoreCore) {
    self.value = value
    super.init(core: core)
  }

  @usableFromInline override func read() -> T {
    if flags.contains(.dirty) { core.bringUpToDate(self) }
    guard let relations, relations.cycleLinks > 0, let plan else { return value }
    for link in relations.children where link.closesCycle { core.bringUpToDate(link.child) }
    // A copy: in the node's own value, entities that close a cycle stay as they were stored.
    var whole = value
    relations.walk(.closeCycles) { plan.writeChildren(&whole, along: &$0) }
    return whole
  }

  @usableFromInline override var isReadable: Bool { !flags.contains(.dirty) && !hasCycleLinks }

  /// The current value, except for entities that close a cycle.
  func upToDateValue() -> T {
    if flags.contains(.dirty) { core.bringUpToDate(self) }
    return value
  }

  /// Whether an entity in the value closes a cycle.
  var hasCycleLinks: Bool {
    guard let relations else { return false }
    return relations.cycleLinks > 0
  }

  /// The children that close a cycle.
  var cycleChildren: [Node] {
    hasCycleLinks ? relations?.children.filter(\.closesCycle).map(\.child) ?? [] : []
  }

  @usableFromInline override func rebuild() {
    guard let relations, let plan = relations.plan else { return }
    relations.walk(.writeChildren) { cursor in
      withUnsafeMutablePointer(to: &value) { plan.writeChildren(UnsafeMutableRawPointer($0), &cursor) }
    }
  }

  /// Writes the value into the value of an aggregate.
  /// - Returns: The replaced value.
  @inlinable func write(to occurrence: inout T) -> T {
    var former = value
    swap(&occurrence, &former)
    return former
  }

  /// Replaces the value of the node.
  /// - Returns: The former value. The caller retains it until the node is consistent, because its `deinit` can run code
  ///   that uses the store.
  func exchange(for value: T) -> T {
    requireNotRebuilding()
    var former = value
    swap(&self.value, &former)
    return former
  }

  @usableFromInline override func remove(_ child: Node) -> Bool {
    guard plan != nil else { return false }
    core.bringUpToDate(self)
    core.record(self)
    let table = core.table(of: T.self)
    var reduced = value
    guard table.remove(child, from: &reduced) else { return !table.fallBackToConfirmed(self, without: child) }
    if let overlay { core.releaseLater(setOverlay(table.overlay(overlay, without: child))) }
    // Looked up in the reduced value, because the order of a dictionary may have changed.
    let remaining = table.contents(of: reduced)
    if remaining.contains(where: { $0 === child }) {
      // A key path keeps the last value of the child.
      core.graph.keepsRemoved = true
      if remaining.count == relations?.children.count { return false }
    }
    let former = exchange(for: reduced)
    defer { withExtendedLifetime(former) {} }
    // An entity that closed a cycle is in the value as it was stored, and may close none after the removal. A member of
    // a set with its former value may equal no other member after the removal.
    if hasCycleLinks || core.graph.keepsMembers { relink(to: remaining) } else { setChildren(remaining) }
    didChange()
    return false
  }

  @usableFromInline override func removeAll(_ children: Set<ObjectIdentifier>) {
    guard plan != nil, !isAbsent, !hasCycleLinks, relations?.overlay == nil else { return }
    core.bringUpToDate(self)
    let table = core.table(of: T.self)
    var reduced = value
    // An aggregate that requires one of the entities is removed when that entity is removed.
    guard table.removeAll(children, from: &reduced) else { return }
    let remaining = table.contents(of: reduced)
    guard isRemainder(remaining, without: children) else { return }
    core.record(self)
    let former = exchange(for: reduced)
    defer { withExtendedLifetime(former) {} }
    if core.graph.keepsMembers { relink(to: remaining) } else { setChildren(remaining) }
    didChange()
  }

  @usableFromInline override func removeFromTable() {
    core.table(of: T.self).removeFromIndex(self)
  }

  @usableFromInline override func notifyQueries(isReported: Bool) {
    core.table(of: T.self).addQueryCandidate(self, isChanged: true, isReported: isReported)
  }

  @usableFromInline override func makeRestoration() -> () -> Void { restoration() }

  @usableFromInline override var label: String { "\(T.self) \(value.id)" }

  /// The key paths to the children.
  var plan: NestingPlan<T>? {
    relations?.plan.map { unsafeDowncast($0, to: NestingPlan<T>.self) }
  }
}
