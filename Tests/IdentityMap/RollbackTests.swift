import CoherenceIdentityMap
import Testing

/// Transactions that throw, together with everything else that a store does.
@Suite("Transactions that throw")
struct RollbackTests {
  private struct Refusal: Error {}
  private let clock = HandClock()
  private let log = Log()
  private let store: EntityStore

  init() {
    store = EntityStore(delivery: .immediate, now: { [clock] in clock.now })
  }

  /// Runs a body in a transaction that throws.
  private func undone(_ body: (EntityStore) -> Void) {
    try? store.transaction { store in
      body(store)
      throw Refusal()
    }
  }

  // MARK: Lifetimes

  @Test func `a search in a transaction that throws evicts nothing that the rollback restores`() {
    store.setPolicy(for: Note.self) { $0.lifetime = .timeToLive(.seconds(1)) }
    _ = store.store(entity: Note(id: 1))
    _ = store.store(entity: Leaf(1, "kept"), named: .chosen)
    clock.advance(by: .seconds(2))
    undone { store in
      store.removeAlias(named: .chosen)
      #expect(store.find(Note.self, id: 1) == nil)
    }
    #expect(store.find(named: .chosen).value == Leaf(1, "kept") && store.find(Leaf.self, id: 1) != nil)
    store.update(Leaf.self, id: 1) { $0.text = "new" }
    #expect(store.find(named: .chosen).value == Leaf(1, "new"))
  }

  @Test func `a search in a transaction evicts nothing that the transaction has just stored`() {
    store.setPolicy(for: Note.self) { $0.lifetime = .timeToLive(.seconds(1)) }
    _ = store.store(entity: Note(id: 1))
    clock.advance(by: .seconds(2))
    let held = store.transaction { store in
      _ = store.store(entity: Leaf(1, "new"))
      #expect(store.find(Note.self, id: 1) == nil)
      return store.find(Leaf.self, id: 1)
    }
    #expect(held?.current.text == "new")
  }

  @Test func `a lifetime retains an entity after its removal was rolled back`() {
    store.setPolicy(for: Leaf.self) { $0.lifetime = .pinned }
    _ = store.store(entity: Leaf(1))
    undone { $0.remove(Leaf.self, id: 1) }
    #expect(store.find(Leaf.self, id: 1) != nil)
    store.setPolicy(for: Leaf.self) { $0.lifetime = .timeToLive(.seconds(10)) }
    clock.advance(by: .seconds(9))
    undone { store in
      store.remove(Leaf.self, id: 1)
      _ = store.store(entity: Leaf(1, "undone"))
    }
    #expect(store.find(Leaf.self, id: 1)?.value == Leaf(1))
    undone { _ = $0.store(entity: Leaf(1, "undone")) }
    clock.advance(by: .seconds(1))
    #expect(store.find(Leaf.self, id: 1) == nil, "The last committed write determines the expiry.")
  }

  @Test func `a rolled-back store evicts no other entity`() {
    store.setPolicy(for: Leaf.self) { $0.lifetime = .last(2) }
    for id in 1...2 { _ = store.store(entity: Leaf(id)) }
    undone { store in
      _ = store.store(entity: Leaf(3))
      store.collect()
      #expect(store.find(Leaf.self, id: 3) != nil)
    }
    #expect(store.count(of: Leaf.self) == 2 && store.find(Leaf.self, id: 1) != nil)
  }

  @Test func `a transaction that throws restores staleness`() {
    store.setPolicy(for: Leaf.self) { $0.staleAfter = .seconds(60) }
    let held = store.store(entities: [Leaf(1), Leaf(2)])
    store.invalidate(Leaf.self, id: 1)
    undone { store in
      _ = store.store(entity: Leaf(1))
      store.invalidate(Leaf.self, id: 2)
    }
    #expect(store.isStale(Leaf.self, id: 1) && !store.isStale(Leaf.self, id: 2))
    undone { $0.invalidateAll(Leaf.self) }
    #expect(!store.isStale(Leaf.self, id: 2))
    withExtendedLifetime(held) {}
  }

  @Test func `an alias rejects an equal stamp after the rollback of a store with a later one`() {
    _ = store.store(entities: [Leaf(1)], named: .all, modifiedAt: 5)
    store.transaction { store in
      undone { _ = $0.store(entities: [Leaf(2)], named: .all, modifiedAt: 6) }
      _ = store.store(entities: [Leaf(3)], named: .all, modifiedAt: 5)
    }
    #expect(store.find(named: .all).value == [Leaf(1)])
  }

  @Test func `a leaf updated and invalidated in a transaction that throws is restored`() {
    let held = store.store(entity: Leaf(1))
    undone { store in
      store.update(Leaf.self, id: 1) { $0.text = "undone" }
      store.invalidate(Leaf.self, id: 1)
    }
    #expect(held.current == Leaf(1) && !store.isStale(Leaf.self, id: 1))
  }

  // MARK: Observers

  @Test func `the next change after a rollback is delivered to observers at every depth`() {
    let held = store.store(entity: Outer(inner: Inner(leaf: Leaf(1))))
    let (received, subscription) = held.changes()
    undone { $0.update(Leaf.self, id: 1) { $0.text = "undone" } }
    #expect(received.count == 0)
    store.update(Leaf.self, id: 1) { $0.text = "new" }
    #expect(received.values == [Outer(inner: Inner(leaf: Leaf(1, "new")))])
    withExtendedLifetime(subscription) {}
  }

  @Test func `a change after the rollback of an inner transaction is delivered to observers at every depth`() {
    let held = store.store(entity: Outer(inner: Inner(leaf: Leaf(1))))
    let (received, subscription) = held.changes()
    store.transaction { store in
      undone { $0.update(Leaf.self, id: 1) { $0.text = "undone" } }
      store.update(Leaf.self, id: 1) { $0.text = "new" }
    }
    #expect(received.values == [Outer(inner: Inner(leaf: Leaf(1, "new")))])
    withExtendedLifetime(subscription) {}
  }

  @Test(arguments: [false, true])
  func `an observer that begins in a transaction that throws receives the restored value`(isChangedAfterwards: Bool) {
    let held = store.store(entity: Leaf(1, "old"))
    let received = Received<Leaf>()
    var subscription: EntityStore.Subscription?
    undone { store in
      store.update(Leaf.self, id: 1) { $0.text = "undone" }
      subscription = held.observe { received.append($0) }
      if isChangedAfterwards { store.update(Leaf.self, id: 1) { $0.text = "undone too" } }
    }
    #expect(received.values == [Leaf(1, "undone"), Leaf(1, "old")])
    withExtendedLifetime(subscription) {}
  }

  @Test func `an observer that begins in an inner transaction receives the restored value when both are rolled back`() {
    let held = store.store(entity: Leaf(1, "old"))
    let received = Received<Leaf>()
    var subscription: EntityStore.Subscription?
    undone { store in
      undone { store in
        store.update(Leaf.self, id: 1) { $0.text = "undone" }
        subscription = held.observe { received.append($0) }
      }
    }
    #expect(received.values == [Leaf(1, "undone"), Leaf(1, "old")])
    withExtendedLifetime(subscription) {}
  }

  @Test func `an observer paused during a transaction that throws receives nothing of it`() {
    let held = store.store(entity: Root(id: 1, leaf: Leaf(2)))
    let (received, subscription) = held.changes()
    let (awaited, other) = store.await(Leaf.self, id: 2).changes()
    let (listed, third) = store.query(Root.self).changes()
    for subscription in [subscription, other, third] { subscription.pause() }
    undone { store in
      store.update(Root.self, id: 1) { $0.text = "undone" }
      try? store.transaction { store in
        store.update(Leaf.self, id: 2) { $0.text = "undone" }
        throw Refusal()
      }
      store.remove(Leaf.self, id: 2)
    }
    for subscription in [subscription, other, third] { subscription.resume() }
    #expect(received.count == 0 && awaited.count == 0 && listed.count == 0)
    subscription.pause()
    store.update(Leaf.self, id: 2) { $0.text = "new" }
    undone { $0.update(Leaf.self, id: 2) { $0.text = "undone" } }
    subscription.resume()
    #expect(received.values == [Root(id: 1, leaf: Leaf(2, "new"))] && awaited.values == [Leaf(2, "new")])
  }

  @Test func `a transaction that throws notifies no earlier observer even if a new one begins in it`() {
    let held = store.store(entity: Leaf(1, "old"))
    let (received, subscription) = held.changes()
    let late = Received<Leaf>()
    var other: EntityStore.Subscription?
    undone { store in
      store.update(Leaf.self, id: 1) { $0.text = "undone" }
      other = held.observe { late.append($0) }
      store.update(Leaf.self, id: 1) { $0.text = "undone too" }
    }
    #expect(received.count == 0 && late.values == [Leaf(1, "undone"), Leaf(1, "old")])
    store.update(Leaf.self, id: 1) { $0.text = "new" }
    #expect(received.values == [Leaf(1, "new")] && late.values.last == Leaf(1, "new"))
    withExtendedLifetime((subscription, other)) {}
  }

  @Test func `a transaction that throws appears neither in the log nor in the change log`() {
    let store = makeStore(logger: log)
    store.keepChangeLog(10)
    let held = store.store(entity: Leaf(1))
    try? store.transaction { store in
      _ = store.store(entity: Leaf(2), named: .chosen)
      store.remove(Leaf.self, id: 1)
      throw Refusal()
    }
    #expect(log.lines == ["stored Leaf 1"] && store.changeLog.map(\.id) == ["1"])
    store.update(Leaf.self, id: 1) { $0.text = "new" }
    #expect(store.changeLog.map(\.number) == [1, 2])
    withExtendedLifetime(held) {}
  }

  // MARK: Queries

  @Test func `a transaction that throws notifies no observer of a query`() {
    let held = store.store(entities: [Item(id: 1, key: "a"), Item(id: 2, key: "a")])
    let (received, subscription) = store.query(Item.self, sortedBy: \.key).changes()
    undone { store in
      store.remove(Item.self, id: 1)
      store.update(Item.self, id: 2) { $0.key = "b" }
      _ = store.store(entity: Item(id: 3))
    }
    #expect(received.count == 0)
    withExtendedLifetime((held, subscription)) {}
  }

  @Test func `a query that begins in a transaction that throws returns the restored entities`() {
    let held = store.store(entities: [Item(id: 1, key: "a"), Item(id: 2, key: "b")])
    var query: EntityObserver<[Item]>?
    undone { store in
      store.update(Item.self, id: 1) { $0.key = "z" }
      _ = store.store(entity: Item(id: 3, key: "c"))
      query = store.query(Item.self, where: { $0.key < "y" }, sortedBy: \.key)
      #expect(query?.value.map(\.id) == [2, 3])
    }
    #expect(query?.current.map(\.id) == [1, 2])
    withExtendedLifetime(held) {}
  }

  @Test func `a query read in a transaction returns the changes of the transaction`() {
    let held = store.store(entities: [Item(id: 1, key: "a"), Item(id: 2, key: "b")])
    let query = store.query(Item.self, where: { $0.key < "y" }, sortedBy: \.key)
    undone { store in
      store.remove(Item.self, id: 1)
      store.update(Item.self, id: 2) { $0.key = "c" }
      _ = store.store(entity: Item(id: 3, key: "b"))
      #expect(query.current.map(\.id) == [3, 2])
    }
    #expect(query.current.map(\.id) == [1, 2])
    withExtendedLifetime(held) {}
  }

  // MARK: The graph

  @Test func `an aggregate stored in a transaction that throws retains nothing`() {
    var leaf: EntityObserver<Leaf>? = store.store(entity: Leaf(2))
    var held: EntityObserver<Root>?
    undone { held = $0.store(entity: Root(id: 1, leaf: Leaf(2))) }
    #expect(store.count(of: Root.self) == 0 && leaf?.current == Leaf(2))
    leaf = nil
    #expect(store.count(of: Leaf.self) == 0)
    withExtendedLifetime(held) {}
  }

  @Test func `an equal stamp is rejected after an inner transaction was rolled back`() {
    let held = store.store(entity: Leaf(1, "old"), modifiedAt: 5)
    store.transaction { store in
      undone { _ = $0.store(entity: Leaf(1, "undone"), modifiedAt: 6) }
      _ = store.store(entity: Leaf(1, "late"), modifiedAt: 5)
    }
    #expect(held.current.text == "old")
  }

  // MARK: Optimistic changes

  @Test(arguments: [false, true])
  func `an optimistic change committed or rolled back in a transaction that throws is open again`(isConfirmed: Bool) {
    let held = store.store(entity: Leaf(1, "sure"))
    let change = store.optimistically { $0.update(Leaf.self, id: 1) { $0.text = "draft" } }
    undone { _ in isConfirmed ? change.commit() : change.rollback() }
    #expect(held.current.text == "draft")
    change.rollback()
    #expect(held.current.text == "sure")
  }

  @Test func `an optimistic change released in a transaction that throws is rolled back`() {
    let held = store.store(entity: Leaf(1, "sure"))
    var change: OptimisticChange? = store.optimistically { $0.update(Leaf.self, id: 1) { $0.text = "draft" } }
    undone { _ in change = nil }
    #expect(held.current.text == "sure" && change == nil)
  }

  @Test func `an entity updated and tentatively removed in a transaction that throws can be removed afterwards`() {
    let held = store.store(entity: Leaf(1, "old"))
    var change: OptimisticChange?
    undone { store in
      store.update(Leaf.self, id: 1) { $0.text = "new" }
      change = store.optimistically { $0.remove(Leaf.self, id: 1) }
    }
    #expect(store.find(Leaf.self, id: 1)?.value == Leaf(1, "old"))
    store.remove(Leaf.self, id: 1)
    #expect(store.find(Leaf.self, id: 1) == nil)
    withExtendedLifetime((held, change)) {}
  }
}
