/// Changes that are shown before they are sure, as when a server has yet to accept them.
///
/// What is stored meanwhile counts as sure: it goes below the changes, which are applied again on top of it. An update is
/// made of the sure values, of the entity and of what is in it. Changes made one after the other lie on top of each other;
/// each can be taken back or confirmed by itself. When this is released before either, the changes are taken back.
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
/// A policy that merges is given the sure value of an entity, but what is in it as it is shown.
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

  /// Makes the changes sure, as they are.
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

  /// What can be done optimistically.
  public struct Draft: ~Copyable {
    fileprivate let core: StoreCore
    fileprivate let entries: OptimisticEntries

    /// Changes an entity. What the closure changes in the entities of an aggregate changes these entities, at whichever of
    /// their places; what it leaves alone keeps its value. Where it changes one entity at several places to different values,
    /// the last place counts, and the logger is told of ``EntityError/differentChanges``. An entity that the closure puts in
    /// and was not given keeps the value that the store has.
    /// - Parameter change: Is applied again whenever a sure value is stored below it, so it should do nothing else.
    /// - Returns: Whether there is such an entity.
    @discardableResult
    public borrowing func update<T: Identifiable & Sendable>(
      _ type: T.Type, id: T.ID, _ change: @escaping @Sendable (inout T) -> Void
    ) -> Bool {
      let table = core.table(of: type)
      guard let node = table.search(id) else { return false }
      table.draft(change, of: node, entries)
      return true
    }

    /// Stores an entity that the sure data may not have. What there is already of the entities in it is left as it is; the
    /// others are part of the change, as they are when ``update(_:id:_:)`` brings them along, until something sure comes.
    public borrowing func store<T: Identifiable & Sendable>(_ entity: T) {
      let table = core.table(of: T.self)
      entries.keep(table.patchIn(entity, .init(change: entries, effect: .value(entity))), table)
    }

    /// Removes an entity from everything that it is in, as ``EntityStore/remove(_:id:)`` does. When that is taken back, it
    /// is at its places again, with what was stored of it and of them meanwhile.
    /// - Returns: Whether there is such an entity.
    @discardableResult
    public borrowing func remove<T: Identifiable & Sendable>(_ type: T.Type, id: T.ID) -> Bool {
      guard let node = core.table(of: type).search(id) else { return false }
      entries.remove(node)
      return true
    }
  }
}

extension EntityStore {
  /// Makes changes that are shown at once and can be taken back; observers are told once.
  public func optimistically(_ body: (borrowing OptimisticChange.Draft) -> Void) -> OptimisticChange {
    core.exclusively {
      let entries = OptimisticEntries(core: core)
      body(OptimisticChange.Draft(core: core, entries: entries))
      return OptimisticChange(core: core, entries: entries)
    }
  }
}
