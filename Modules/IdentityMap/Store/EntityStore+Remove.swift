extension EntityStore {
  /// Removes an entity everywhere: aliases stand for nothing, optional places become `nil`, lists lose it, and
  /// aggregates that cannot be without it are removed too, unless the ``RemovalPolicy`` of their place says otherwise.
  /// Observers of an identifier get `nil`; observers of the entity are told nothing until one of its identifier is stored
  /// again, but for those of ``EntityObserver/observeEvents(on:onEvent:)``.
  /// - Returns: Whether there was one and it was removed. Where an aggregate refuses it, the logger is told why; see
  ///   ``removeOrThrow(_:id:)``.
  @discardableResult
  public func remove<T: Identifiable & Sendable>(_ type: T.Type, id: T.ID) -> Bool {
    core.exclusively {
      do throws(RemovalRefusal) {
        return try core.remove(type, id)
      } catch {
        core.reportNotRemoved(type, id, error)
        return false
      }
    }
  }

  /// Removes an entity everywhere; see ``remove(_:id:)``.
  /// - Returns: Whether there was one.
  /// - Throws: ``RemovalRefusal`` with the aggregates that refuse; then nothing is removed.
  @discardableResult
  public func removeOrThrow<T: Identifiable & Sendable>(_ type: T.Type, id: T.ID) throws(RemovalRefusal) -> Bool {
    try core.exclusively { () throws(RemovalRefusal) -> Bool in try core.remove(type, id) }
  }

  /// Removes all entities of a type; see ``remove(_:id:)``. Those that an aggregate which stays refuses to lose stay too.
  public func removeAll<T: Identifiable & Sendable>(_ type: T.Type) {
    core.exclusively { core.table(of: type).removeAllUnreferred() }
  }

  /// Removes all entities, whatever the policies of their places, and lets all aliases stand for nothing. Subscriptions stay, and are told of what is stored
  /// later under the same identifiers; ``clear()`` ends them.
  public func removeAll() {
    core.exclusively {
      core.clearAliases()
      for table in core.tables.all { table.removeAll() }
    }
  }
}

extension StoreCore {
  fileprivate func remove<T: Identifiable & Sendable>(_ type: T.Type, _ id: T.ID) throws(RemovalRefusal) -> Bool {
    let table = table(of: type)
    let found = table.search(id)
    // What is removed for the time being is not brought back then.
    guard let node = found ?? table.tentativelyRemovedNode(id) else { return false }
    if let refusal = refusal(ofRemoving: node) { throw refusal }
    node.removeEverywhere()
    return found != nil
  }
}
