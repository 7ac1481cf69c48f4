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
    var value = basis(of: node)
    // Copied only where it is needed: a second copy would have the closure copy what it changes.
    let given: T? = node.isUnsure && nature.isAggregate ? value : nil
    try update(&value)
    guard value.id == node.value.id else {
      core.tellRefused(T.self, node.value.id, EntityError.identifierChanged)
      return false
    }
    // It may have been removed or stored by the closure.
    guard !node.isVacant, refusal(of: stamp, by: node) == nil else { return false }
    if let overlay = node.overlay, overlay.base == nil, let change = overlay.patches.last?.change {
      // Nothing of it is sure, so the update goes with it. What is in it may be sure.
      let edits = given.map { NestedEdits(from: $0, to: value, of: node, self).list } ?? []
      patch(node, .init(change: change, effect: .value(value)))
      for edit in edits { edit.store(stamp) }
    } else {
      core.storingEdits { _ = replace(node, with: value, stamp: stamp, isUpdate: true) }
    }
    return true
  }
  /// The value of an entity in what a closure is given. Of an aggregate in which something is not sure it may be another
  /// one: then each entity in it is looked at by itself.
  func givenValue(of node: EntityNode<T>) -> T { sureValue(of: node) ?? node.built() }

  /// What an update is made of: the sure value, if there is one, with the sure values of what is in it. What is not sure
  /// lies on top of it.
  private func basis(of node: EntityNode<T>) -> T {
    guard let sure = sureValue(of: node) else { return node.built() }
    guard !core.openChanges.isEmpty, core.hasUnsure(in: contents(of: sure)) else { return sure }
    return core.withSureValues { node.built() }
  }
}
