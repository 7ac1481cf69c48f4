extension EntityStore {
  /// Removes the content of an alias. Its observers receive `nil`; entities that only the alias retained are evicted.
  public func removeAlias<T: Identifiable & Sendable>(named: AliasKey<T>) {
    core.exclusively { core.clearAlias(named) }
  }

  /// Removes the content of an alias of a collection.
  public func removeAlias<C: Collection & Sendable>(named: AliasKey<C>) where C.Element: Identifiable & Sendable {
    core.exclusively { core.clearAlias(named) }
  }

  /// Removes the content of all aliases.
  public func removeAllAlias() {
    core.exclusively { core.clearAliases() }
  }
}
