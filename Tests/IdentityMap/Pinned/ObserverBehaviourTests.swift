import CoherenceIdentityMap
import Dispatch
import Testing

@Suite("Pinned: observers")
struct ObserverBehaviourTests {
  private let store = makeStore()

  @Test func `observing delivers the current value once before the call returns`() {
    let received = Received<Leaf>()
    let subscription = store.store(entity: Leaf(1)).observe { received.append($0) }
    #expect(received.values == [Leaf(1)])
    withExtendedLifetime(subscription) {}
  }

  @Test func `a later change is delivered`() {
    let (received, subscription) = store.store(entity: Leaf(1)).changes()
    _ = store.store(entity: Leaf(1, "new"))
    #expect(received.values == [Leaf(1, "new")])
    withExtendedLifetime(subscription) {}
  }

  @Test func `after unsubscribing nothing is delivered`() {
    let held = store.store(entity: Leaf(1))
    let (received, subscription) = held.changes()
    subscription.unsubscribe()
    subscription.unsubscribe()
    _ = store.store(entity: Leaf(1, "new"))
    #expect(received.count == 0 && held.current.text == "new")
  }

  @Test func `the value at delivery is the latest`() {
    let gate = DispatchSemaphore(value: 0)
    let queue = DispatchQueue(label: "deliveries")
    let store = EntityStore(queue: queue)
    let (received, subscription) = store.store(entity: Leaf(1)).changes()
    queue.async { gate.wait() }
    _ = store.store(entity: Leaf(1, "first"))
    _ = store.store(entity: Leaf(1, "second"))
    gate.signal()
    queue.sync {}
    #expect(received.values == [Leaf(1, "second")])
    withExtendedLifetime(subscription) {}
  }

  @Test func `an entity that changes repeatedly in one transaction notifies its observers once`() {
    let (received, subscription) = store.store(entity: Leaf(1)).changes()
    store.transaction { store in
      for text in ["a", "b", "c"] { store.update(Leaf.self, id: 1) { $0.text = text } }
    }
    #expect(received.values == [Leaf(1, "c")])
    withExtendedLifetime(subscription) {}
  }

  @Test func `a subscription released before the delivery receives nothing`() {
    let gate = DispatchSemaphore(value: 0)
    let queue = DispatchQueue(label: "deliveries")
    let store = EntityStore(queue: queue)
    let held = store.store(entity: Leaf(1))
    var (received, subscription): (Received<Leaf>, EntityStore.Subscription?) = held.changes()
    queue.async { gate.wait() }
    _ = store.store(entity: Leaf(1, "new"))
    subscription = nil
    gate.signal()
    queue.sync {}
    #expect(received.count == 0 && subscription == nil)
    received = Received()
  }

  @Test func `a change after a delivery is another delivery`() {
    let (received, subscription) = store.store(entity: Leaf(1)).changes()
    _ = store.store(entity: Leaf(1, "a"))
    #expect(received.count == 1)
    _ = store.store(entity: Leaf(2))
    #expect(received.count == 1)
    _ = store.store(entity: Leaf(1, "b"))
    #expect(received.values == [Leaf(1, "a"), Leaf(1, "b")])
    withExtendedLifetime(subscription) {}
  }

  @Test func `an observer of several entities is notified once of a transaction that changes them`() {
    let (received, subscription) = store.store(entities: [Leaf(1), Leaf(2)]).changes()
    _ = store.store(entities: [Leaf(1, "a"), Leaf(2, "b")])
    #expect(received.values == [[Leaf(1, "a"), Leaf(2, "b")]])
    withExtendedLifetime(subscription) {}
  }

  @Test func `a store made with a queue delivers on that queue`() async {
    let queue = DispatchQueue(label: "mine")
    let key = DispatchSpecificKey<Bool>()
    queue.setSpecific(key: key, value: true)
    let store = EntityStore(queue: queue)
    let places = Received<Bool>()
    let subscription = store.store(entity: Leaf(1)).observe { _ in
      places.append(DispatchQueue.getSpecific(key: key) ?? false)
    }
    _ = store.store(entity: Leaf(1, "new"))
    queue.sync {}
    #expect(places.values == [false, true])
    withExtendedLifetime(subscription) {}
  }
}
