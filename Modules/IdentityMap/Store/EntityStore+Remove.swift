extension EntityStore {
  /// Removes an entity everywhere: aliases lose their content, optionals become `nil`, lists lose the entity, and
  /// aggregates that require it are removed too, unless the ``RemovalPolicy`` of the key path differs. Observers of
  /// the identifier receive `nil`. Observers of the entity receive no call until it is stored again, except observers
  /// of ``EntityObserver/observeEvents(on:onEvent:)``.
  ///
  /// Takes time in proportion to the lengths of the lists with the entity and the sizes of the aggregates with it. The
  /// removal of many entities of a long list one by one walks over the list for each. ``removeAll(_:)`` walks over
  /// each list once, unless a ``RemovalPolicy`` may refuse a removal.
  /// - Returns: Whether the entity existed and was removed. When an aggregate refuses the removal, the logger receives
  ///   the reason; see ``removeOrThrow(_:id:)``.
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
  /// - Returns: Whether the entity existed.
  /// - Throws: ``RemovalRefusal`` with the aggregates that refuse the removal; then nothing is removed.
  @discardableResult
  public func removeOrThrow<T: Identifiable & Sendable>(_ type: T.Type, id: T.ID) throws(RemovalRefusal) -> Bool {
    try core.exclusively { () throws(RemovalRefusal) -> Bool in try core.remove(type, id) }
  }

  /// Removes all entities of a type; see ``remove(_:id:)``. An entity that a remaining aggregate refuses to lose stays,
  /// and the logger receives the reason.
  public func removeAll<T: Identifiable & Sendable>(_ type: T.Type) {
    core.exclusively { core.table(of: type).removeAllUnlessRefused() }
  }

  /// Removes all entities, whichever policies their key paths have, and the content of all aliases. Subscriptions stay,
  /// and follow entities stored later under the same identifiers; ``clear()`` ends them.
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
    // A tentative removal becomes final, too.
    guard let node = found ?? table.tentativelyRemovedNode(id) else { return false }
    if let refusal = refusal(ofRemoving: node) { throw refusal }
    node.removeEverywhere()
    return found != nil
  }
}
