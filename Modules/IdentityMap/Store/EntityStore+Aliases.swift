extension EntityStore {
  /// Lets an alias stand for nothing. Its observers get `nil`; entities that only the alias kept go.
  public func removeAlias<T: Identifiable & Sendable>(named: AliasKey<T>) {
    core.exclusively { core.clearAlias(named) }
  }

  /// Lets an alias of a collection stand for nothing.
  public func removeAlias<C: Collection & Sendable>(named: AliasKey<C>) where C.Element: Identifiable & Sendable {
    core.exclusively { core.clearAlias(named) }
  }

  /// Lets all aliases stand for nothing.
  public func removeAllAlias() {
    core.exclusively { core.clearAliases() }
  }
}

extension StoreCore {
  func alias<Content: Sendable>(_ key: AliasKey<Content>, shape: @autoclosure () -> NestedShape<Content>)
    -> AliasNode<Content>
  {
    if let node = aliases[key] { return node }
    let node = AliasNode(key, shape: shape(), core: self)
    aliases[key] = node
    checkRelease(node)
    return node
  }

  /// - Parameter mode: What is done with the entities in the content.
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
}
