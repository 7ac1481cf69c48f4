/// The operations on aliases by their keys; an ``AliasNode`` has the content of an alias.
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
  /// - Returns: Whether the content was stored.
  @discardableResult
  func setAlias<Content: Sendable>(
    _ key: AliasKey<Content>, to content: Content, shape: @autoclosure () -> NestedShape<Content>, stamp: Stamp?,
    mode: ChildCollector.Mode
  ) -> Bool {
    let node = alias(key, shape: shape())
    if let stamp, node.rejects(stamp) { return false }
    node.put(content, stamp: stamp, mode: mode)
    reportRegistered(key)
    return true
  }

  func clearAlias<Content: Sendable>(_ key: AliasKey<Content>) {
    aliases[key]?.clear()
  }

  func clearAliases() {
    for node in Array(aliases.all) { (node as? any ClearableAlias)?.clear() }
  }

  /// Changes the content of an alias by a closure, and stores the result.
  ///
  /// - Parameter isRejected: Whether an entity kept its stored value, so that the content differs from the result of
  ///   the closure. Called after the content was stored.
  /// - Returns: Whether the content was stored; `false` without content, for content with an equal or later stamp, and
  ///   for a rejected result.
  func updateAlias<Content: Sendable, E: Error>(
    _ key: AliasKey<Content>, stamp: Stamp?, shape: @autoclosure () -> NestedShape<Content>,
    isRejected: (Content, UpdateEdits) -> Bool = { _, _ in false }, _ update: (inout Content) throws(E) -> Void
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
    let edits = UpdateEdits(given: given) { GivenEntities(in: original, shape, self) }
    // The closure may have stored the alias with a later stamp.
    let isSet = withEdits(edits) { setAlias(key, to: content, shape: shape, stamp: stamp, mode: .updating) }
    return isSet && !isRejected(content, edits)
  }
}
