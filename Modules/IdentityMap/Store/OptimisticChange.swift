/// Changes visible before their confirmation, for example while a server has yet to accept them.
///
/// Values stored by other calls are confirmed: they lie below the changes, which are applied to them again. An
/// update changes the confirmed values of an entity and its nested entities. An update of an entity that exists by
/// open changes alone is a part of the change that has stored the entity, below the updates by other changes. Successive
/// changes lie on top of each other; each can be reverted or confirmed alone. Releasing this object reverts its changes.
///
/// The same applies to the lists of aliases: confirmed pages, replacements and removals lie below the edits, which are
/// applied again in the order in which they were made. A list stored as a whole contains the confirmed edits.
///
/// ```swift
/// let change = store.optimistically { $0.update(Post.self, id: 1) { $0.likes += 1 } }
/// do {
///   change.commit(replacingWith: try await server.like(1))   // this like, and the likes of others
/// } catch {
///   change.rollback()
/// }
/// ```
///
/// A post of one's own at the top of a feed, under a temporary identifier until the server gives it one:
///
/// ```swift
/// let change = store.optimistically { $0.insert(Post(id: -1, text: text), named: AliasKey<[Post]>("feed")) }
/// do {
///   change.commit(replacingWith: try await server.publish(text))   // same index, new identifier
/// } catch {
///   change.rollback()
/// }
/// ```
///
/// A merge policy receives the confirmed value of an entity, but the visible values of its nested entities.
public final class OptimisticChange: Sendable {
  private let core: StoreCore
  private let tentative: TentativeChange

  fileprivate init(core: StoreCore, tentative: TentativeChange) {
    self.core = core
    self.tentative = tentative
  }

  deinit {
    core.exclusively { tentative.abandon() }
  }

  /// Reverts the changes: the confirmed values become visible again. After a rollback or a commit, further calls of
  /// both have no effect.
  public func rollback() {
    core.exclusively { tentative.revert() }
  }

  /// Confirms the changes: their visible values become confirmed values. An update of an entity that exists by other
  /// open changes alone becomes a part of the changes that store the entity, and ends with the last of them.
  public func commit() {
    core.exclusively { tentative.confirm() }
  }

  /// Stores the server's value, which replaces all effects of the changes on entities: the changes are reverted, and
  /// observers are notified once of the difference. Other open changes are applied on top of the value. An entity that
  /// was stored by the changes is removed if the value has another identifier.
  ///
  /// Edits of aliases are confirmed. If they have inserted one entity of this type that exists by the changes alone,
  /// and the changes have not touched the entity of the value, the value takes the entries of the inserted entity, also
  /// in the edits of other changes: a temporary identifier becomes that of the server. In ambiguous cases, name the
  /// identifiers: ``commit(replacing:modifiedAt:)``.
  ///
  /// The value is confirmed, so it is stored also after the changes have been reverted or confirmed.
  /// - Parameters:
  ///   - value: The server's value.
  ///   - modifiedAt: The stamp of the value. A stored value with an equal or higher stamp stays.
  /// - Returns: An observer of the stored entity. The release of the observer evicts the entity, unless something else
  ///   retains the entity.
  @discardableResult
  public func commit<T: Identifiable & Sendable>(
    replacingWith value: T, modifiedAt: Stamp? = nil
  ) -> EntityObserver<T> {
    core.exclusively {
      let stored = tentative.replace(with: [value], stamp: modifiedAt)
      return EntityObserver(stored[0])
    }
  }

  /// Stores the server's values for changes of several entities, which replace all effects of the changes; see
  /// ``commit(replacingWith:modifiedAt:)``.
  ///
  /// Entities that the changes have inserted into aliases, and that exist by the changes alone, have temporary
  /// identifiers. Values whose entities the changes have not touched are their counterparts. If both are equal in
  /// number, each such value takes the entries of one inserted entity, in their order. Otherwise the inserted entities
  /// are removed.
  /// - Parameters:
  ///   - values: The server's values.
  ///   - modifiedAt: The stamp of the values. A stored value with an equal or higher stamp stays.
  /// - Returns: An observer of the stored entities, in the order of the values, which retains them.
  @discardableResult
  public func commit<C: Collection & Sendable>(
    replacingWith values: C, modifiedAt: Stamp? = nil
  ) -> EntityObserver<[C.Element]> where C.Element: Identifiable & Sendable {
    core.exclusively {
      let nodes = tentative.replace(with: Array(values), stamp: modifiedAt)
      return EntityObserver(ListNode<C.Element>.make(nodes, core: core))
    }
  }

  /// Stores the server's values for entities with temporary identifiers; see
  /// ``commit(replacingWith:modifiedAt:)->EntityObserver<T>``.
  /// - Parameters:
  ///   - values: The values by the temporary identifiers. Each takes the entries of its entity in edits of aliases.
  ///   - modifiedAt: The stamp of the values.
  /// - Returns: Observers of the stored entities by the temporary identifiers. The release of an observer evicts its
  ///   entity, unless something else retains the entity.
  @discardableResult
  public func commit<T: Identifiable & Sendable>(
    replacing values: [T.ID: T], modifiedAt: Stamp? = nil
  ) -> [T.ID: EntityObserver<T>] {
    core.exclusively {
      let pairs = Array(values)
      let stored = tentative.replace(with: pairs.map(\.value), stamp: modifiedAt, temporaries: pairs.map(\.key))
      return Dictionary(uniqueKeysWithValues: zip(pairs.map(\.key), stored.map { EntityObserver($0) }))
    }
  }

  /// Makes the changes of an optimistic change, in the closure of ``EntityStore/optimistically(_:)``.
  public struct Draft: ~Copyable {
    let core: StoreCore
    let tentative: TentativeChange

    /// Changes an entity. A change of the closure to a nested entity is a change of that entity; unchanged nested
    /// entities keep their values. When the closure gives one entity different values at several occurrences, the last
    /// counts, and the logger receives ``EntityError/differentChanges``. An entity that the closure adds keeps the
    /// value that the store has.
    /// - Parameter change: Applied again to each confirmed value stored below it, so it should have no other
    ///   effect.
    /// - Returns: Whether the entity exists.
    @discardableResult
    public borrowing func update<T: Identifiable & Sendable>(
      _ type: T.Type, id: T.ID, _ change: @escaping @Sendable (inout T) -> Void
    ) -> Bool {
      let table = core.table(of: type)
      guard let node = table.search(id) else { return false }
      table.draft(change, of: node, tentative)
      return true
    }

    /// Stores an entity that the confirmed data may lack. Nested entities that the store already has keep their values;
    /// new entities are tentative, as in ``update(_:id:_:)``, until a confirmed value is stored.
    public borrowing func store<T: Identifiable & Sendable>(_ entity: T) {
      let table = core.table(of: T.self)
      tentative.add(table.storeTentatively(entity, .init(change: tentative, effect: .value(entity))), table)
    }

    /// Removes an entity everywhere, as ``EntityStore/remove(_:id:)`` does. A rollback restores it in the aggregates
    /// and lists that contained it, with the values stored since. An aggregate that requires the entity is removed with
    /// it, and returns earlier if a confirmed value of the aggregate does not require the entity.
    ///
    /// A removal that an aggregate refuses is not made, and the logger receives a ``RemovalRefusal``. An aggregate
    /// that later contains the entity no longer refuses: it keeps the last value.
    /// - Returns: Whether the entity exists and is removed.
    @discardableResult
    public borrowing func remove<T: Identifiable & Sendable>(_ type: T.Type, id: T.ID) -> Bool {
      guard let node = core.table(of: type).search(id) else { return false }
      if let refusal = core.refusal(ofRemoving: node) {
        core.reportNotRemoved(type, id, refusal)
        return false
      }
      tentative.remove(node)
      return true
    }
  }
}

extension EntityStore {
  /// Makes changes with an immediate, revertible effect; observers are notified once.
  ///
  /// - Parameter body: Makes the changes, on the calling thread and with the store locked.
  /// - Returns: The open change. Its release reverts the changes, so the caller retains it until the confirmation.
  public func optimistically(_ body: (borrowing OptimisticChange.Draft) -> Void) -> OptimisticChange {
    core.exclusively {
      let tentative = TentativeChange(core: core)
      body(OptimisticChange.Draft(core: core, tentative: tentative))
      return OptimisticChange(core: core, tentative: tentative)
    }
  }
}
