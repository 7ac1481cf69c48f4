/// Changes that are shown before they are sure, as when a server has yet to accept them.
///
/// What is stored meanwhile counts as sure: it goes below the changes, which are applied again on top of it. Changes
/// made one after the other lie on top of each other; each can be taken back or confirmed by itself. When this is
/// released before either, the changes are taken back.
public final class OptimisticChange: Sendable {
  private let core: StoreCore
  private let entries: Entries

  /// The entities changed, kept until the changes are sure or taken back.
  // Sendable because it is touched under the store's lock only.
  fileprivate final class Entries: @unchecked Sendable {
    fileprivate var list: [(handle: Handle, takeBack: () -> Void, confirm: () -> Void)] = []
  }

  fileprivate init(core: StoreCore, entries: Entries) {
    self.core = core
    self.entries = entries
  }

  deinit {
    rollback()
  }

  /// Takes the changes back. After either call, both do nothing.
  public func rollback() {
    end { $0.takeBack() }
  }

  /// Makes the changes sure, as they are.
  public func commit() {
    end { $0.confirm() }
  }

  private func end(_ how: ((handle: Handle, takeBack: () -> Void, confirm: () -> Void)) -> Void) {
    core.exclusively {
      let list = entries.list
      entries.list = []
      for entry in list.reversed() { how(entry) }
    }
  }

  /// What can be done optimistically.
  public struct Draft: ~Copyable {
    fileprivate let core: StoreCore
    fileprivate let entries: Entries

    /// Changes an entity. Of an aggregate that is its own fields and which entities it contains; change the values of
    /// nested entities by their own type.
    /// - Parameter change: Is applied again whenever a sure value is stored below it.
    /// - Returns: Whether there is such an entity.
    @discardableResult
    public borrowing func update<T: Identifiable & Sendable>(
      _ type: T.Type, id: T.ID, _ change: @escaping @Sendable (inout T) -> Void
    ) -> Bool {
      let table = core.table(of: type)
      guard let node = table.node(id) else { return false }
      let change = Overlay<T>.Patch(change: ObjectIdentifier(entries), apply: change)
      table.patch(node, change)
      keep(node, table)
      return true
    }

    /// Stores an entity that the sure data may not have.
    public borrowing func store<T: Identifiable & Sendable>(_ entity: T) {
      let table = core.table(of: T.self)
      keep(table.patchIn(entity, ObjectIdentifier(entries)), table)
    }

    private borrowing func keep<T: Identifiable & Sendable>(_ node: EntityNode<T>, _ table: EntityTable<T>) {
      // A second change of the same entity goes with the first.
      guard !entries.list.contains(where: { $0.handle.node === node }) else { return }
      let identity = ObjectIdentifier(entries)
      entries.list.append(
        (
          handle: Handle(node),
          takeBack: { table.takeBack(identity, of: node) },
          confirm: { table.confirm(identity, of: node) }
        ))
    }
  }
}

extension EntityStore {
  /// Makes changes that are shown at once and can be taken back; observers are told once.
  public func optimistically(_ body: (borrowing OptimisticChange.Draft) -> Void) -> OptimisticChange {
    core.exclusively {
      let entries = OptimisticChange.Entries()
      body(OptimisticChange.Draft(core: core, entries: entries))
      return OptimisticChange(core: core, entries: entries)
    }
  }
}
