extension StoreCore {
  /// Returns the node of an alias, and makes an empty one for a new alias.
  func alias<Content: Sendable>(_ key: AliasKey<Content>, shape: @autoclosure () -> NestedShape<Content>)
    -> AliasNode<Content>
  {
    if let node = aliases[key] { return node }
    let node = AliasNode(key, shape: shape(), core: self)
    aliases[key] = node
    pending.addEvictionCandidate(node)
    return node
  }

  /// Stores the content of an alias, unless the alias has content with an equal or later stamp.
  ///
  /// - Parameter mode: The treatment of the entities in the content.
  func setAlias<Content: Sendable>(
    _ key: AliasKey<Content>, to content: Content, shape: @autoclosure () -> NestedShape<Content>, stamp: Stamp?,
    mode: ChildCollector.Mode
  ) {
    let node = alias(key, shape: shape())
    if let stamp, node.rejects(stamp) { return }
    node.put(content, stamp: stamp, mode: mode)
    reportRegistered(key)
  }

  func clearAlias<Content: Sendable>(_ key: AliasKey<Content>) {
    guard let node = aliases[key] else { return }
    node.clear()
    reportUnregistered(key)
  }

  func clearAliases() {
    for node in Array(aliases.all) { (node as? any ClearableAlias)?.clear() }
  }

  /// Changes the content of an alias by a closure, and stores the result.
  ///
  /// - Returns: Whether the content was stored; `false` without content, and for content with an equal or later stamp.
  func updateAlias<Content: Sendable, E: Error>(
    _ key: AliasKey<Content>, stamp: Stamp?, shape: @autoclosure () -> NestedShape<Content>,
    _ update: (inout Content) throws(E) -> Void
  ) throws(E) -> Bool {
    guard let node = aliases[key], var content = node.updateBase else { return false }
    if let stamp, node.rejects(stamp) { return false }
    let (original, version) = (content, node.version)
    try update(&content)
    let shape = shape()
    let given = node.isUnchanged(since: version) ? nil : GivenEntities(in: original, shape, self)
    if let given {
      // An entity that the closure has removed is not restored by the alias.
      guard let reduced = shape.withoutRemoved(content, given: given, self) else { return false }
      content = reduced
    }
    withEdits(UpdateEdits(given: given)) { setAlias(key, to: content, shape: shape, stamp: stamp, mode: .updating) }
    return true
  }
}
