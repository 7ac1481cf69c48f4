extension EntityStore {
  /// Removes an entity everywhere: aliases stand for nothing, optional places become `nil`, lists lose it, and
  /// aggregates that cannot be without it are removed too. Observers of an identifier get `nil`; observers of the entity
  /// are told nothing until one of its identifier is stored again, but for those of
  /// ``EntityObserver/observeEvents(on:onEvent:)``.
  /// - Returns: Whether there was one.
  @discardableResult
  public func remove<T: Identifiable & Sendable>(_ type: T.Type, id: T.ID) -> Bool {
    core.exclusively {
      let table = core.table(of: type)
      guard let node = table.search(id) else {
        // What is removed for the time being is not brought back then.
        table.hiddenNode(id)?.removeEverywhere()
        return false
      }
      node.removeEverywhere()
      return true
    }
  }

  /// Removes all entities of a type; see ``remove(_:id:)``.
  public func removeAll<T: Identifiable & Sendable>(_ type: T.Type) {
    core.exclusively { core.table(of: type).removeAll() }
  }

  /// Removes all entities, and lets all aliases stand for nothing. Subscriptions stay, and are told of what is stored
  /// later under the same identifiers; ``clear()`` ends them.
  public func removeAll() {
    core.exclusively {
      core.clearAliases()
      for table in core.tables.all { table.removeAll() }
    }
  }
}
