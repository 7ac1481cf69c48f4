extension EntityTable {
  /// Confirms the patches of a change on an entity; see ``OverlayConfirmation`` for the effect of each patch.
  func confirm(_ change: TentativeChange, of node: EntityNode<T>) {
    guard let overlay = node.overlay, overlay.hasPatches(of: change) else { return }
    core.record(node)
    var confirmation = OverlayConfirmation(of: change, in: overlay, self)
    for patch in overlay.patches { confirmation.add(patch) }
    // As when an absent entity is stored.
    if confirmation.isRemoved, stampMemory == nil { node.stamp = .nan }
    if confirmation.removesEntity { return node.removeEverywhere() }
    // The confirmed value retains its nested entities while other changes are open.
    let contents = confirmation.base.map { handles(to: $0, among: confirmation.contents + node.contents) }
    setOverlay(confirmation.overlay(with: contents), of: node)
  }

  /// Handles that retain the nested entities of a confirmed value, each once. Entities that only a replaced value
  /// contains are not retained, and entities that other changes hide are.
  /// - Parameter former: The handles before. A removed entity is only retained if the value has kept its last value.
  private func handles(to value: T, among former: [Handle]) -> [Handle] {
    let formerNodes = Set(former.map { ObjectIdentifier($0.node) })
    var seen: Set<ObjectIdentifier> = []
    return contents(of: value).filter { node in
      (!node.isRemoved || formerNodes.contains(ObjectIdentifier(node))) && seen.insert(ObjectIdentifier(node)).inserted
    }.map { Handle.of($0) }
  }
}
