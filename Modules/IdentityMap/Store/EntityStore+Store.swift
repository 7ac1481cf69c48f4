extension EntityStore {
  /// Stores an entity, with its nested entities if it is an ``Aggregate``.
  /// - Parameters:
  ///   - entity: The newest value.
  ///   - named: An alias that gets the entity as its content.
  ///   - modifiedAt: The stamp of the value and its nested entities. An entity with the same stamp or a higher one
  ///     keeps its value, with its nested entities; the logger receives an error.
  ///   - update: Changes the stored value if the entity exists; then `entity` is not stored.
  /// - Returns: An observer of the stored entity. The release of the observer evicts the entity, unless something else
  ///   retains the entity.
  @inlinable
  public func store<T: Identifiable & Sendable>(
    entity: T, named: AliasKey<T>? = nil, modifiedAt: Stamp? = nil, ifPresent update: Update<T>? = nil
  ) -> EntityObserver<T> {
    core.exclusively {
      // The fast path for an entity without nested entities, observers and a policy.
      let table = core.unretainedTable(of: T.self)
      if named == nil, update == nil,
        let node = table._withUnsafeGuaranteedRef({ $0.putLeaf(entity, stamp: modifiedAt) })
      {
        return EntityObserver(leaf: node)
      }
      return storeGeneral(entity, named: named, modifiedAt: modifiedAt, ifPresent: update)
    }
  }

  /// Stores an entity of any type, also with an alias or an update: the general path, for every entity that `putLeaf`
  /// refuses. Called under the lock.
  @usableFromInline
  func storeGeneral<T: Identifiable & Sendable>(
    _ entity: T, named: AliasKey<T>?, modifiedAt: Stamp?, ifPresent update: Update<T>?
  ) -> EntityObserver<T> {
    let node = core.store(entity, stamp: modifiedAt, ifPresent: update)
    // The content keeps existing entities as they are: the entity is stored already, and its own stamp would refuse a
    // second store.
    if let named { core.setAlias(named, to: node.read(), shape: .entity(), stamp: modifiedAt, mode: .keepingExisting) }
    return EntityObserver(node)
  }

  /// Stores entities and their nested entities.
  /// - Returns: A list of these entities, in this order. It does not follow later content of the alias: use
  ///   `find(named:)` for that.
  public func store<C: Collection & Sendable>(
    entities: C, named: AliasKey<C>? = nil, modifiedAt: Stamp? = nil
  ) -> EntityObserver<[C.Element]> where C.Element: Identifiable & Sendable {
    core.exclusively {
      let table = core.table(of: C.Element.self)
      table.prepareSearch()
      let nodes = entities.map { table.put($0, stamp: modifiedAt).node }
      if let named { core.setAlias(named, to: entities, shape: .list(), stamp: modifiedAt, mode: .keepingExisting) }
      return EntityObserver(ListNode<C.Element>.make(nodes, core: core))
    }
  }
}

extension EntityStore {
  /// Stores an entity; see ``store(entity:named:modifiedAt:ifPresent:)``. The entity is evicted when the result is
  /// released, unless something else retains the entity.
  @inlinable @discardableResult
  public func store<T: Identifiable & Sendable>(
    _ entity: T, named: AliasKey<T>? = nil, modifiedAt: Stamp? = nil, ifPresent update: Update<T>? = nil
  ) -> EntityObserver<T> {
    store(entity: entity, named: named, modifiedAt: modifiedAt, ifPresent: update)
  }

  /// Stores entities, the short way; see ``store(entities:named:modifiedAt:)``.
  @discardableResult
  public func store<C: Collection & Sendable>(
    _ entities: C, named: AliasKey<C>? = nil, modifiedAt: Stamp? = nil
  ) -> EntityObserver<[C.Element]> where C.Element: Identifiable & Sendable {
    store(entities: entities, named: named, modifiedAt: modifiedAt)
  }
}
