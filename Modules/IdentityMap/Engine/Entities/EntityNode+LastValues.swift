/// The last values of removed entities, which aggregates keep by the policies of their key paths; see
/// ``RemovalPolicy/keepLastValue``.
extension EntityNode {
  /// The removed entities whose last values the aggregate keeps.
  /// - Parameter contents: The entities of its confirmed value.
  func retainedRemoved(with contents: [Handle]) -> [Node] {
    guard core.graph.keepsRemoved else { return [] }
    return (relations?.children.map(\.child) ?? []).filter(\.isRemoved) + contents.map(\.node).filter(\.isRemoved)
  }

  /// Whether the aggregate, or an aggregate nested in it, has the last value of a removed entity.
  var keepsRemoved: Bool {
    guard core.graph.keepsRemoved else { return false }
    var visited: Set<ObjectIdentifier> = []
    var remaining: [Node] = [self]
    while let aggregate = remaining.popLast() {
      for child in aggregate.relations?.children.map(\.child) ?? [] {
        if child.isRemoved { return true }
        guard let relations = child.relations, relations.children.count > 0 else { continue }
        if visited.insert(ObjectIdentifier(child)).inserted { remaining.append(child) }
      }
    }
    return false
  }
}

extension EntityTable {
  /// The last value of a removed entity, if an aggregate keeps it.
  func lastValue(of id: T.ID) -> T? {
    guard core.graph.keepsRemoved, let node = anyNode(id), node.isRemoved, node.hasParents else {
      return nil
    }
    return node.value
  }
}
