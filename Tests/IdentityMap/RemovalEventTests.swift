import CoherenceIdentityMap
import Dispatch
import Testing

@Suite("Events of removals")
struct RemovalEventTests {
  private struct Refusal: Error {}
  private let store = makeStore()

  private func events<T: Identifiable & Sendable>(
    of observer: EntityObserver<T>
  ) -> (received: Received<EntityEvent<T>>, subscription: EntityStore.Subscription) {
    let received = Received<EntityEvent<T>>()
    return (received, observer.observeEvents { received.append($0) })
  }

  @Test func `an observer of events receives values, the removal, and the entity stored again`() {
    let (received, subscription) = events(of: store.store(entity: Leaf(1, "a")))
    store.update(Leaf.self, id: 1) { $0.text = "b" }
    store.remove(Leaf.self, id: 1)
    _ = store.store(entity: Leaf(1, "c"))
    store.removeAll()
    #expect(
      received.values == [.value(Leaf(1, "a")), .value(Leaf(1, "b")), .removed, .value(Leaf(1, "c")), .removed])
    withExtendedLifetime(subscription) {}
  }

  @Test func `an observer of events receives a removal when a required entity is removed`() {
    let root = Root(id: 1, leaf: Leaf(2))
    let (received, subscription) = events(of: store.store(entity: root))
    store.remove(Leaf.self, id: 2)
    #expect(received.values == [.value(root), .removed])
    withExtendedLifetime(subscription) {}
  }

  @Test func `an observer of events receives a tentative removal and the value after its rollback`() {
    let (received, subscription) = events(of: store.store(entity: Leaf(1)))
    let change = store.optimistically { $0.remove(Leaf.self, id: 1) }
    change.rollback()
    #expect(received.values == [.value(Leaf(1)), .removed, .value(Leaf(1))])
    withExtendedLifetime(subscription) {}
  }

  @Test func `an observer of events receives nothing of a rolled-back removal`() {
    let (received, subscription) = events(of: store.store(entity: Leaf(1)))
    try? store.transaction { store throws in
      store.remove(Leaf.self, id: 1)
      throw Refusal()
    }
    #expect(received.values == [.value(Leaf(1))])
    store.update(Leaf.self, id: 1) { $0.text = "new" }
    #expect(received.values == [.value(Leaf(1)), .value(Leaf(1, "new"))])
    withExtendedLifetime(subscription) {}
  }

  @Test func `an observer of events receives only the new value when a removal and a store share a transaction`() {
    let (received, subscription) = events(of: store.store(entity: Leaf(1, "old")))
    store.transaction { store in
      store.remove(Leaf.self, id: 1)
      _ = store.store(entity: Leaf(1, "new"))
    }
    #expect(received.values == [.value(Leaf(1, "old")), .value(Leaf(1, "new"))])
    withExtendedLifetime(subscription) {}
  }

  @Test func `an observer of events of a removed entity receives the removal first`() {
    let held = store.store(entity: Leaf(1))
    store.remove(Leaf.self, id: 1)
    let (received, subscription) = events(of: held)
    #expect(received.values == [.removed])
    _ = store.store(entity: Leaf(1, "again"))
    #expect(received.values == [.removed, .value(Leaf(1, "again"))])
    withExtendedLifetime(subscription) {}
  }

  @Test func `a paused observer of events catches up with a removal`() {
    let (received, subscription) = events(of: store.store(entity: Leaf(1)))
    subscription.pause()
    store.remove(Leaf.self, id: 1)
    #expect(received.count == 1)
    subscription.resume()
    #expect(received.values == [.value(Leaf(1)), .removed])
  }

  @Test func `an observer of events may have a delivery of its own`() {
    let work = Received<@Sendable () -> Void>()
    let received = Received<EntityEvent<Leaf>>()
    let subscription = store.store(entity: Leaf(1)).observeEvents(on: .custom { work.append($0) }) {
      received.append($0)
    }
    store.remove(Leaf.self, id: 1)
    #expect(received.count == 1)
    for piece in work.values { piece() }
    #expect(received.values == [.value(Leaf(1)), .removed])
    withExtendedLifetime(subscription) {}
  }

  @Test func `a sequence of events delivers values and removals`() async {
    var events = store.store(entity: Leaf(1)).events.makeAsyncIterator()
    #expect(await events.next() == .value(Leaf(1)))
    store.remove(Leaf.self, id: 1)
    #expect(await events.next() == .removed)
    _ = store.store(entity: Leaf(1, "again"))
    #expect(await events.next() == .value(Leaf(1, "again")))
  }

  @Test func `observers of values receive nothing of a removal`() {
    let held = store.store(entity: Leaf(1))
    let (received, subscription) = held.changes()
    let (heard, other) = events(of: held)
    store.remove(Leaf.self, id: 1)
    #expect(received.count == 0 && heard.count == 2)
    _ = store.store(entity: Leaf(1))
    #expect(received.values == [Leaf(1)])
    withExtendedLifetime((subscription, other)) {}
  }
}

@Suite("Clearing a store")
struct ClearTests {
  private struct Refusal: Error {}
  private let store = makeStore()

  @Test func `a cleared store is empty`() {
    let held = store.store(entity: Root(id: 1, leaf: Leaf(2)), named: .main)
    _ = store.store(entities: [Leaf(3)], named: .all)
    let change = store.optimistically { $0.remove(Leaf.self, id: 3) }
    store.clear()
    change.rollback()
    #expect(store.inspect().entities.isEmpty && store.inspect().aliases.isEmpty)
    #expect(store.find(Leaf.self, id: 3) == nil && store.find(named: .all).value == nil)
    withExtendedLifetime(held) {}
  }

  @Test func `no subscription from before a clear receives values stored after it`() {
    let (leaves, first) = store.store(entity: Leaf(1, "first user"), named: .chosen).changes()
    let (chosen, second) = store.find(named: .chosen).changes()
    let (all, third) = store.query(Leaf.self).changes()
    let (awaited, fourth) = store.await(Leaf.self, id: 1).changes()
    let (list, fifth) = store.store(entities: [Leaf(1, "first user")]).changes()
    let events = Received<EntityEvent<Leaf>>()
    let sixth = store.find(Leaf.self, id: 1)?.observeEvents { events.append($0) }
    events.clear()
    store.clear()
    let held = store.store(entity: Leaf(1, "second user"), named: .chosen)
    first.pause()
    first.resume()
    #expect(leaves.count == 0 && chosen.count == 0 && all.count == 0 && awaited.count == 0 && list.count == 0)
    #expect(events.count == 0)
    withExtendedLifetime((held, second, third, fourth, fifth, sixth)) {}
  }

  @Test func `a clear discards pending deliveries`() {
    let gate = DispatchSemaphore(value: 0)
    let queue = DispatchQueue(label: "deliveries")
    let store = EntityStore(queue: queue)
    let (received, subscription) = store.store(entity: Leaf(1)).changes()
    queue.async { gate.wait() }
    store.update(Leaf.self, id: 1) { $0.text = "new" }
    store.clear()
    gate.signal()
    queue.sync {}
    #expect(received.count == 0)
    withExtendedLifetime(subscription) {}
  }

  @Test func `a subscription that begins after a clear receives changes`() {
    let former = store.store(entity: Leaf(1)).observe { _ in }
    store.clear()
    let (received, subscription) = store.store(entity: Leaf(1, "new")).changes()
    store.update(Leaf.self, id: 1) { $0.text = "newer" }
    former.unsubscribe()
    store.update(Leaf.self, id: 1) { $0.text = "newest" }
    #expect(received.values == [Leaf(1, "newer"), Leaf(1, "newest")])
    withExtendedLifetime(subscription) {}
  }

  @Test func `sequences end when their store is cleared`() async {
    let held = store.store(entity: Leaf(1))
    var (values, events) = (held.values.makeAsyncIterator(), held.events.makeAsyncIterator())
    #expect(await values.next() == Leaf(1))
    #expect(await events.next() == .value(Leaf(1)))
    store.clear()
    #expect(await values.next() == nil)
    #expect(await events.next() == nil)
  }

  @Test func `a cleared store accepts lower stamps, of entities and of aliases`() {
    store.setPolicy(for: Leaf.self) { $0.stampsOutlive = .seconds(3600) }
    let held = store.store(entity: Leaf(1, "first user"), named: .chosen, modifiedAt: 10)
    _ = store.store(entity: Leaf(2, "first user"), modifiedAt: 10)
    store.clear()
    _ = store.store(entities: [Leaf(1, "second user"), Leaf(2, "second user")], named: .all, modifiedAt: 5)
    #expect(store.find(named: .all).value == [Leaf(1, "second user"), Leaf(2, "second user")])
    _ = store.store(entity: Leaf(2, "second user"), named: .chosen, modifiedAt: 6)
    #expect(store.find(named: .chosen).value?.id == 2)
    withExtendedLifetime(held) {}
  }

  @Test func `a rolled-back clear leaves every entity and every subscription`() {
    let held = store.store(entity: Leaf(1, "old"), named: .chosen, modifiedAt: 10)
    let (received, subscription) = held.changes()
    try? store.transaction { store throws in
      store.clear()
      throw Refusal()
    }
    #expect(store.find(named: .chosen).value == Leaf(1, "old") && received.count == 0)
    _ = store.store(entity: Leaf(1, "late"), modifiedAt: 9)
    store.update(Leaf.self, id: 1) { $0.text = "new" }
    #expect(received.values == [Leaf(1, "new")])
    withExtendedLifetime(subscription) {}
  }

  @Test func `a subscription that begins after a clear in the same transaction continues`() {
    let received = Received<Leaf>()
    let former = store.store(entity: Leaf(1)).observe { _ in }
    let subscription = store.transaction { store in
      store.clear()
      return store.store(entity: Leaf(1, "new")).observe { received.append($0) }
    }
    store.update(Leaf.self, id: 1) { $0.text = "newer" }
    #expect(received.values == [Leaf(1, "new"), Leaf(1, "newer")])
    withExtendedLifetime((former, subscription)) {}
  }
}
