extension EntityStore {
  /// Returns an observer of an entity; `nil` for an absent entity: never stored, removed, or evicted.
  @inlinable
  public func find<T: Identifiable & Sendable>(_ type: T.Type, id: T.ID) -> EntityObserver<T>? {
    if core.lock.mayShareReads, let found = core.findShared(type, id: id) { return found }
    return core.exclusively {
      core.unretainedTable(of: type)._withUnsafeGuaranteedRef { table in
        guard table.storesPlainLeaves else { return table.find(id) }
        guard let node = table.unretainedPresentNode(id) else { return nil }
        if core.lock.isContended { core.noteRead(of: Unmanaged.fromOpaque(node.toOpaque())) }
        return EntityObserver(leaf: node)
      }
    }
  }

  /// Returns an observer of an alias's entity, whose value is `nil` without content. Follow it to receive later
  /// content.
  public func find<T: Identifiable & Sendable>(named: AliasKey<T>) -> EntityObserver<T?> {
    if core.lock.mayShareReads, let found = core.findShared(named) { return found }
    return core.exclusively { core.observer(core.alias(named, shape: .entity())) }
  }

  /// Returns an observer of an alias's collection, whose value is `nil` without content.
  public func find<C: Collection & Sendable>(named: AliasKey<C>) -> EntityObserver<C?>
  where C.Element: Identifiable & Sendable {
    if core.lock.mayShareReads, let found = core.findShared(named) { return found }
    return core.exclusively { core.observer(core.alias(named, shape: .list())) }
  }

  /// Follows an identifier with or without an entity: the value is `nil` while the entity does not exist. The
  /// observer retains the entity once it exists.
  public func await<T: Identifiable & Sendable>(_ type: T.Type, id: T.ID) -> EntityObserver<T?> where T.ID: Sendable {
    core.exclusively { EntityObserver(core.observedIdentifier(type, id: id)) }
  }
}
