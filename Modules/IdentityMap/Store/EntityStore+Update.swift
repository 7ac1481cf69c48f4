extension EntityStore {
  /// Changes an entity.
  ///
  /// A change in the closure's value counts, at any occurrence of a nested entity; an unchanged entity keeps its value
  /// and its stamp. The closure may use the store: what it does to a nested entity there counts where its value leaves
  /// the entity unchanged. When the closure gives one entity different values at several occurrences, the last counts,
  /// and the logger receives ``EntityError/differentChanges``.
  /// - Parameter update: Changes the stored value. It may use the store. When it throws, the entity keeps its value.
  /// - Returns: Whether the entity was changed: `false` when it does not exist, when its stamp is not lower than
  ///   `modifiedAt`, and when the closure changed its identifier. In the last two cases the logger receives the reason.
  @inlinable @discardableResult
  public func update<T: Identifiable & Sendable, E: Error>(
    _ type: T.Type, id: T.ID, modifiedAt: Stamp? = nil, update: (inout T) throws(E) -> Void
  ) throws(E) -> Bool {
    try core.exclusively { () throws(E) -> Bool in
      let table = core.table(of: type)
      guard let node = table.storesPlainLeaves ? table.node(id) : table.search(id) else { return false }
      if let done = try table.updateLeaf(node, stamp: modifiedAt, update) { return done }
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
  /// - Returns: Whether it was changed: `false` when the alias has no content, or its stamp is not lower than
  ///   `modifiedAt`.
  @discardableResult
  public func update<T: Identifiable & Sendable, E: Error>(
    named: AliasKey<T>, modifiedAt: Stamp? = nil, update: (inout T) throws(E) -> Void
  ) throws(E) -> Bool {
    try core.exclusively { () throws(E) -> Bool in
      try core.updateAlias(named, stamp: modifiedAt, shape: .entity(), update)
    }
  }

  /// Changes the collection of an alias and its entities. The closure receives the list without the edits of open
  /// optimistic changes, which lie on top of the result.
  /// - Returns: Whether it was changed: `false` when the alias has no content, or its stamp is not lower than
  ///   `modifiedAt`.
  @discardableResult
  public func update<C: Collection & Sendable, E: Error>(
    named: AliasKey<C>, modifiedAt: Stamp? = nil, update: (inout C) throws(E) -> Void
  ) throws(E) -> Bool where C.Element: Identifiable & Sendable {
    try core.exclusively { () throws(E) -> Bool in
      try core.updateAlias(named, stamp: modifiedAt, shape: .list(), update)
    }
  }
}
