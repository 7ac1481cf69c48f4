/// Changes shown before they are confirmed, as when a server has yet to accept them.
///
/// Values stored in between count as confirmed: they lie below the changes, which are applied again. An update is made
/// of the confirmed values of the entity and its nested entities. Successive changes lie on top of each other; each can
/// be taken back or confirmed by itself. When this object is released before, its changes are taken back.
///
/// ```swift
/// let change = store.optimistically { $0.update(Post.self, id: 1) { $0.likes += 1 } }
/// do {
///   change.commit(replacingWith: try await server.like(1))   // has the like in it, and those of others
/// } catch {
///   change.rollback()
/// }
/// ```
///
/// A merge policy receives the confirmed value of an entity, but its nested entities as they are shown.
public final class OptimisticChange: Sendable {
  private let core: StoreCore
  private let entries: OptimisticEntries

  fileprivate init(core: StoreCore, entries: OptimisticEntries) {
    self.core = core
    self.entries = entries
  }

  deinit {
    core.exclusively { entries.abandon() }
  }

  /// Takes the changes back. After either call, both do nothing.
  public func rollback() {
    core.exclusively { entries.takeBack() }
  }

  /// Confirms the changes, as they are.
  public func commit() {
    core.exclusively { entries.confirm() }
  }

  /// Stores the answer to the changes, which takes the place of everything that they did: they are taken back, and
  /// observers are told once of the difference. Other changes that are open go on top of the answer. An entity that was
  /// stored by the changes and has another identifier in the answer is gone then.
  ///
  /// The answer is sure, so it is stored also when the changes have been taken back or confirmed already.
  /// - Parameters:
  ///   - answer: What the server has made of the changes.
  ///   - modifiedAt: How fresh the answer is. When the store has a fresher value, that one stays.
  /// - Returns: The entity as it is stored now. When nobody keeps it, the entity goes.
  @discardableResult
  public func commit<T: Identifiable & Sendable>(
    replacingWith answer: T, modifiedAt: Stamp? = nil
  ) -> EntityObserver<T> {
    core.exclusively {
      EntityObserver(entries.replace { core.place(answer, stamp: modifiedAt, ifPresent: nil) })
    }
  }

  /// Stores the answers to changes of several entities, which take the place of everything that the changes did; see
  /// ``commit(replacingWith:modifiedAt:)``.
  @discardableResult
  public func commit<C: Collection & Sendable>(
    replacingWith answers: C, modifiedAt: Stamp? = nil
  ) -> EntityObserver<[C.Element]> where C.Element: Identifiable & Sendable {
    core.exclusively {
      let nodes = entries.replace { answers.map { core.place($0, stamp: modifiedAt, ifPresent: nil) } }
      return EntityObserver(ListNode<C.Element>.make(nodes, core: core))
    }
  }

  /// The optimistic changes of entities.
  public struct Draft: ~Copyable {
    fileprivate let core: StoreCore
    fileprivate let entries: OptimisticEntries

    /// Changes an entity. Changes that the closure makes in the entities of an aggregate change these entities, at any
    /// of their places; the others keep their values. Where it changes one entity at several places to different
    /// values, the last place counts, and the logger receives ``EntityError/differentChanges``. An entity that the
    /// closure puts in and was not given keeps the value that the store has.
    /// - Parameter change: Is applied again whenever a confirmed value is stored below it. It should do nothing else.
    /// - Returns: Whether the entity exists.
    @discardableResult
    public borrowing func update<T: Identifiable & Sendable>(
      _ type: T.Type, id: T.ID, _ change: @escaping @Sendable (inout T) -> Void
    ) -> Bool {
      let table = core.table(of: type)
      guard let node = table.search(id) else { return false }
      table.draft(change, of: node, entries)
      return true
    }

    /// Stores an entity that the confirmed data may lack. Nested entities that the store already has keep their values;
    /// new entities are tentative, as in ``update(_:id:_:)``, until a confirmed value is stored.
    public borrowing func store<T: Identifiable & Sendable>(_ entity: T) {
      let table = core.table(of: T.self)
      entries.keep(table.patchIn(entity, .init(change: entries, effect: .value(entity))), table)
    }

    /// Removes an entity from everything that it is in, as ``EntityStore/remove(_:id:)`` does. When this is taken back,
    /// it returns to its places, with all values stored of it and of them in between.
    /// - Returns: Whether the entity exists.
    @discardableResult
    public borrowing func remove<T: Identifiable & Sendable>(_ type: T.Type, id: T.ID) -> Bool {
      guard let node = core.table(of: type).search(id) else { return false }
      entries.remove(node)
      return true
    }
  }
}

extension EntityStore {
  /// Makes changes, shown at once and revertible; observers are notified once.
  public func optimistically(_ body: (borrowing OptimisticChange.Draft) -> Void) -> OptimisticChange {
    core.exclusively {
      let entries = OptimisticEntries(core: core)
      body(OptimisticChange.Draft(core: core, entries: entries))
      return OptimisticChange(core: core, entries: entries)
    }
  }
}
