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
