/// The last values of removed entities, which aggregates keep by the policies of their key paths; see
/// ``RemovalPolicy/keepLastValue``.
extension EntityNode {
  /// The removed entities whose last values the aggregate keeps.
  /// - Parameter contents: The entities of its confirmed value.
  func retainedRemoved(with contents: [Handle]) -> [Node] {
    guard core.graph.keepsRemoved else { return [] }
    return (relations?.children.map(\.child) ?? []).filter(\.isRemoved) + contents.map(\.node).filter(\.isRemoved)
  }

  /// Whether the aggregate has the last value of a removed entity.
  var keepsRemoved: Bool { core.graph.keepsRemoved && !retainedRemoved(with: []).isEmpty }
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
