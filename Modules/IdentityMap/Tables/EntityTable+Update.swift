extension EntityTable {
  /// Lets a closure change an entity. The closure may use the store; what it leaves in its value counts.
  /// - Returns: Whether the entity has the value now.
  @usableFromInline func update<E: Error>(
    _ node: EntityNode<T>, stamp: Stamp?, _ update: (inout T) throws(E) -> Void
  ) throws(E) -> Bool {
    if let error = refusal(of: stamp, by: node) {
      core.tellRefused(T.self, node.value.id, error)
      return false
    }
    // The sure one, if there is one: what is not sure lies on top of it.
    var value = sureValue(of: node) ?? node.built()
    try update(&value)
    guard value.id == node.value.id else {
      core.tellRefused(T.self, node.value.id, EntityError.identifierChanged)
      return false
    }
    // It may have been removed or stored by the closure.
    guard !node.isVacant, refusal(of: stamp, by: node) == nil else { return false }
    if let overlay = node.overlay, overlay.base == nil, let change = overlay.patches.last?.change {
      // Nothing of it is sure, so the update goes with it.
      patch(node, .init(change: change, effect: .value(value)))
    } else {
      _ = replace(node, with: value, stamp: stamp, isUpdate: true)
    }
    return true
  }
}
