/// The effect of an entity's removal on a value that contains it.
struct RemovalEffect {
  /// Whether the value cannot exist without the entity.
  let removesValue: Bool
  /// Whether every key path to the entity keeps it in the value.
  let keepsEveryOccurrence: Bool
  /// Whether a key path refuses the removal.
  let isRefused: Bool
}

/// A node whose entity refers to others, without its type.
protocol RemovalReferrer: Node {
  var reference: RemovalRefusal.Reference { get }
  /// The effect on the visible value, or on the confirmed value where that becomes visible.
  func effect(ofRemoving other: Node) -> RemovalEffect
}

extension EntityNode: RemovalReferrer {
  var reference: RemovalRefusal.Reference { .init(type: "\(T.self)", id: "\(value.id)") }

  func effect(ofRemoving other: Node) -> RemovalEffect {
    let table = core.table(of: T.self)
    let visible = table.effect(ofRemoving: other, on: upToDateValue())
    // Otherwise the confirmed value becomes visible, if it does not require the entity.
    guard visible.removesValue, let base = overlay?.base else { return visible }
    return table.effect(ofRemoving: other, on: base)
  }
}

extension EntityTable {
  func effect(ofRemoving other: Node, on value: T) -> RemovalEffect {
    guard let plan = plan(for: value) else {
      return RemovalEffect(removesValue: false, keepsEveryOccurrence: true, isRefused: false)
    }
    var reduced = value
    let nodes = contents(of: value)
    return LinkCursor.walk(over: nodes, removing: other) { cursor in
      let removesValue = plan.remove(from: &reduced, along: &cursor) || reduced.id != value.id
      let count = nodes.count { $0 === other }
      return RemovalEffect(
        removesValue: removesValue, keepsEveryOccurrence: !removesValue && cursor.keptCount == count,
        isRefused: cursor.refusedCount > 0)
    }
  }

  /// Removes the entities that no remaining aggregate refuses to lose, and reports the refusals. Entities that only
  /// refuse each other's removal stay.
  func removeAllUnlessRefused() {
    guard core.graph.mayRefuse else { return removeAll() }
    var remaining = presentNodes
    var count = 0
    // Each removal can make another entity removable.
    repeat {
      count = remaining.count
      remaining = remaining.filter { node in
        guard !node.isAbsent else { return false }
        guard core.refusal(ofRemoving: node) == nil else { return true }
        node.removeEverywhere()
        return false
      }
    } while !remaining.isEmpty && remaining.count < count
    for node in remaining {
      if let refusal = core.refusal(ofRemoving: node) { core.reportNotRemoved(T.self, node.value.id, refusal) }
    }
  }
}

extension StoreCore {
  /// Returns the reason that forbids a removal. An aggregate does not refuse when the removal also removes the
  /// aggregate.
  func refusal(ofRemoving entity: some RemovalReferrer) -> RemovalRefusal? {
    guard graph.mayRefuse else { return nil }
    var removed: [Node] = [entity]
    var removedIdentities: Set<ObjectIdentifier> = [ObjectIdentifier(entity)]
    var refusing: [any RemovalReferrer] = []
    var next = 0
    while next < removed.count {
      let node = removed[next]
      next += 1
      for parent in node.relations?.parents.map(\.parent) ?? []
      where !removedIdentities.contains(ObjectIdentifier(parent)) {
        guard let referrer = parent as? any RemovalReferrer else { continue }
        let effect = referrer.effect(ofRemoving: node)
        if effect.removesValue {
          removedIdentities.insert(ObjectIdentifier(parent))
          removed.append(parent)
        } else if effect.isRefused {
          refusing.append(referrer)
        }
      }
    }
    // Aggregates that the removal also removes do not refuse it.
    let references = Set(refusing.filter { !removedIdentities.contains(ObjectIdentifier($0)) }.map(\.reference))
    guard !references.isEmpty else { return nil }
    return RemovalRefusal(
      entity: entity.reference, referrers: references.sorted { ($0.type, $0.id) < ($1.type, $1.id) })
  }
}
