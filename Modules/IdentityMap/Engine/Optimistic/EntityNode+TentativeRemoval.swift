/// The operations of a tentative removal that depend on the type of a node.
protocol TentativelyRemovable: Node {
  /// Removes another entity from the node's value tentatively, or with `nil` the node's own entity.
  func patch(removing other: Node?, for change: TentativeChange)
  /// How often the last effects on the value remove another entity from it for a change. More than once if the value
  /// has the entity after the first removal, because a setter has put it into another key path.
  func exclusionCount(of other: Node, by change: TentativeChange) -> Int
  /// The unconfirmed changes with a removal of the entity.
  var removals: [TentativeChange] { get }
  /// Whether the policy of every key path to a removed entity keeps its last value in the aggregate. If so, this also
  /// notes in the graph that such values exist; see ``GraphState/keepsRemoved``.
  func keepsLastValue(of other: Node) -> Bool
}

extension EntityNode: TentativelyRemovable {
  func patch(removing other: Node?, for change: TentativeChange) {
    let table = core.table(of: T.self)
    table.patch(self, .init(change: change, effect: other.map { .without([$0]) } ?? .removal))
    change.add(self, table)
  }

  func exclusionCount(of other: Node, by change: TentativeChange) -> Int {
    guard let overlay else { return 0 }
    let last = overlay.patches.reversed().prefix { !$0.mayAddEntities }
    return last.reduce(0) { $0 + ($1.change === change ? $1.exclusionCount(of: other) : 0) }
  }

  var removals: [TentativeChange] {
    overlay.map { core.table(of: T.self).removals(by: $0) } ?? []
  }

  func keepsLastValue(of other: Node) -> Bool {
    guard core.table(of: T.self).effect(ofRemoving: other, on: upToDateValue()).keepsEveryOccurrence else {
      return false
    }
    core.graph.keepsRemoved = true
    return true
  }

  /// Removes another entity, which was finally removed, from the confirmed value and from the tentative removals.
  func discard(_ other: Node) {
    guard let overlay else { return }
    let isExcluded = overlay.patches.contains { $0.excludes(other) }
    let patches = isExcluded ? overlay.patches.compactMap { $0.including(other) } : overlay.patches
    var contents = overlay.contents.filter { $0.node !== other }
    guard isExcluded || contents.count < overlay.contents.count else { return }
    core.record(self)
    let table = core.table(of: T.self)
    var base = overlay.base
    if var confirmed = overlay.base {
      guard table.remove(other, from: &confirmed) else { return removeEverywhere() }
      base = confirmed
      if contents.count < overlay.contents.count, table.contents(of: confirmed).contains(where: { $0 === other }) {
        // The confirmed value keeps the last value of the removed entity.
        core.graph.keepsRemoved = true
        contents = overlay.contents
      }
    }
    let extended = EntityOverlay(base: base, patches: patches, contents: contents, last: overlay.last)
    // The exclusion has kept the entity out of the values that the changes store.
    let reduced = isExcluded ? table.overlay(extended, without: other) : extended
    if isAbsent, isExcluded, table.exists(by: reduced) {
      // The entity was only removed because its value required the other entity.
      return table.setOverlay(reduced, of: self)
    }
    // The visible value has lost the other entity already, so it stays as it is, even where changes add that entity.
    let former = setOverlay(patches.isEmpty ? nil : reduced)
    withExtendedLifetime(former) {}
  }

  /// Ends the exclusion of another entity from the value, because that entity is present again.
  func include(_ other: Node) {
    guard let overlay, overlay.patches.contains(where: { $0.excludes(other) }) else { return }
    core.record(self)
    let patches = overlay.patches.compactMap { $0.including(other) }
    let extended = EntityOverlay(
      base: overlay.base, patches: patches, contents: overlay.contents, last: overlay.last)
    // The store of an aggregate makes its value visible after the nested entities were stored.
    guard flags.contains(.beingStored) else { return core.table(of: T.self).setOverlay(extended, of: self) }
    let former = setOverlay(patches.isEmpty ? nil : extended)
    withExtendedLifetime(former) {}
  }
}

extension Node {
  /// Marks the node as tentatively removed or not, and counts it.
  func setTentativelyRemoved(_ isTentativelyRemoved: Bool) {
    guard flags.contains(.tentativelyRemoved) != isTentativelyRemoved else { return }
    if isTentativelyRemoved { flags.insert(.tentativelyRemoved) } else { flags.remove(.tentativelyRemoved) }
    core.optimistic.countTentativelyRemoved(isTentativelyRemoved)
  }

  /// The present aggregates that contain the entity, each once.
  var containers: [any Node & TentativelyRemovable] {
    var seen: Set<ObjectIdentifier> = []
    return (relations?.parents.map(\.parent) ?? []).compactMap { parent in
      guard !parent.isAbsent, seen.insert(ObjectIdentifier(parent)).inserted else { return nil }
      return parent as? any Node & TentativelyRemovable
    }
  }
}
