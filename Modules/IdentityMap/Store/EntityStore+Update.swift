extension EntityStore {
  /// Changes an entity.
  ///
  /// A change in the closure's value counts, at any occurrence of a nested entity; an unchanged entity keeps its value
  /// and its stamp. The closure may use the store: what it does to a nested entity there counts where its value leaves
  /// the entity unchanged. When the closure gives one entity different values at several occurrences, the last counts,
  /// and the logger receives ``EntityError/differentChanges``. An entity that closes a cycle keeps its value; see
  /// ``Aggregate``.
  /// - Parameter update: Changes the stored value. It may use the store. When it throws, the entity keeps its value.
  /// - Returns: Whether the result of the closure was stored, even if it equals the stored value. `false` when the
  ///   entity does not exist or the closure removed it, when its stamp is not lower than `modifiedAt`, and when the
  ///   closure changed its identifier. The logger receives a changed identifier, and a stamp rejected before the
  ///   closure ran.
  @inlinable @discardableResult
  public func update<T: Identifiable & Sendable, E: Error>(
    _ type: T.Type, id: T.ID, modifiedAt: Stamp? = nil, update: (inout T) throws(E) -> Void
  ) throws(E) -> Bool {
    try core.exclusively { () throws(E) -> Bool in
      let table = core.table(of: type)
      // Plain leaves have no lifetime, so a search has no expired entities to evict.
      guard let node = table.storesPlainLeaves ? table.node(id) : table.search(id) else { return false }
      if let isStored = try table.updateLeaf(node, stamp: modifiedAt, update) { return isStored }
      return try table.update(node, stamp: modifiedAt, update)
    }
  }

  /// Changes an aggregate and its nested entities; see ``update(_:id:modifiedAt:update:)``.
  @discardableResult
  public func update<T: Aggregate, E: Error>(
    _ type: T.Type, id: T.ID, modifiedAt: Stamp? = nil, _ update: (inout T) throws(E) -> Void
  ) throws(E) -> Bool {
    try self.update(type, id: id, modifiedAt: modifiedAt, update: update)
  }

  /// Changes the entity of an alias, or replaces it by another.
  ///
  /// Alias and entity have stamps of their own. When the alias accepts `modifiedAt` and the stamp of the entity rejects
  /// it, the alias names the entity of the result, and the entity keeps its stored value.
  /// - Returns: Whether the result of the closure was accepted, even if it equals the entity. `false` when the alias
  ///   has no confirmed content, when its stamp is not lower than `modifiedAt`, when the stamp of a changed entity is
  ///   not lower than `modifiedAt`, and when the closure removed the entity from the store and left its value
  ///   unchanged. The logger receives a rejection by the stamp of the entity.
  @discardableResult
  public func update<T: Identifiable & Sendable, E: Error>(
    named: AliasKey<T>, modifiedAt: Stamp? = nil, update: (inout T) throws(E) -> Void
  ) throws(E) -> Bool {
    try core.exclusively { () throws(E) -> Bool in
      try core.updateAlias(
        named, stamp: modifiedAt, shape: .entity(),
        isRejected: { content, edits in
          core.table(of: T.self).anyNode(content.id).map { edits.isRejected(by: $0) } ?? false
        }, update)
    }
  }

  /// Changes the collection of an alias and its entities. The closure receives the list without the edits of open
  /// optimistic changes, which lie on top of the result.
  /// - Returns: Whether the list of the result was accepted, even if it equals the collection. `false` when the alias
  ///   has no confirmed content, and when its stamp is not lower than `modifiedAt`, also by a store in the closure. An
  ///   entity of an accepted list keeps its value if its own stamp is not lower than `modifiedAt`, as a nested entity
  ///   does; the logger receives the rejection.
  @discardableResult
  public func update<C: Collection & Sendable, E: Error>(
    named: AliasKey<C>, modifiedAt: Stamp? = nil, update: (inout C) throws(E) -> Void
  ) throws(E) -> Bool where C.Element: Identifiable & Sendable {
    try core.exclusively { () throws(E) -> Bool in
      try core.updateAlias(named, stamp: modifiedAt, shape: .list(), update)
    }
  }
}
