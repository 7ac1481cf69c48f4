import CoherenceIdentityMap
import Dispatch
import Observation
import Synchronization
import Testing

@Suite("Ways of observing")
struct ObservationTests {
  private let store = makeStore()

  @Test func `an asynchronous sequence delivers the current value and new values and retains the entity`() async {
    var values = store.store(entity: Leaf(1, "0")).values.makeAsyncIterator()
    #expect(await values.next() == Leaf(1, "0"))
    store.update(Leaf.self, id: 1) { $0.text = "1" }
    #expect(await values.next() == Leaf(1, "1"))
    store.update(Leaf.self, id: 1) { $0.text = "2" }
    store.update(Leaf.self, id: 1) { $0.text = "3" }
    #expect(await values.next() == Leaf(1, "3"), "The newest of those that were not taken.")
  }

  @Test func `a cancelled task ends its sequence`() async {
    let store = store
    let begun = AsyncStream<Void>.makeStream()
    let task = Task {
      var taken: [Leaf] = []
      for await value in store.store(entity: Leaf(1)).values {
        taken.append(value)
        begun.continuation.yield()
      }
      return taken
    }
    for await _ in begun.stream { break }
    task.cancel()
    #expect(await task.value == [Leaf(1)])
    #expect(store.find(Leaf.self, id: 1) == nil)
  }

  @Test func `an observer of a field is notified only when the field changes`() {
    let received = Received<String?>()
    let held = store.store(entity: Root(id: 1, text: "a", leaf: Leaf(2, "b")))
    let subscription = held.observe(\.leaf.text) { received.append($0) }
    store.update(Root.self, id: 1) { $0.text = "c" }
    store.update(Leaf.self, id: 2) { $0.text = "d" }
    #expect(received.values == ["b", "d"])
    withExtendedLifetime(subscription) {}
  }

  @Test func `a paused observer catches up once`() {
    let (received, subscription) = store.store(entity: Leaf(1)).changes()
    subscription.pause()
    store.update(Leaf.self, id: 1) { $0.text = "1" }
    store.update(Leaf.self, id: 1) { $0.text = "2" }
    #expect(received.count == 0)
    subscription.resume()
    subscription.resume()
    #expect(received.values == [Leaf(1, "2")])
    subscription.pause()
    subscription.resume()
    #expect(received.count == 1, "Without a change, resuming delivers nothing.")
  }

  @Test func `an observed entity publishes its changes to Observation`() {
    let observed = store.store(entity: Leaf(1, "0")).observed()
    let alias = store.find(named: .chosen).observed()
    let changes = Received<Int>()
    withObservationTracking {
      _ = observed.value
    } onChange: {
      changes.append(1)
    }
    withObservationTracking {
      _ = alias.value
    } onChange: {
      changes.append(2)
    }
    store.update(Leaf.self, id: 1) { $0.text = "1" }
    #expect(changes.values == [1] && observed.value.text == "1")
    _ = store.store(entity: Leaf(1, "1"), named: .chosen)
    #expect(changes.values == [1, 2] && alias.value == Leaf(1, "1"))
  }

  @Test func `a released observed entity ends its subscription and releases its entity`() {
    var observed: ObservedEntity<Leaf>? = store.store(entity: Leaf(1)).observed()
    #expect(observed?.value == Leaf(1) && store.find(Leaf.self, id: 1) != nil)
    observed = nil
    #expect(store.find(Leaf.self, id: 1) == nil)
  }

  @Test func `an observer may have a delivery of its own`() {
    let work = Received<@Sendable () -> Void>()
    let received = Received<Leaf>()
    let subscription = store.store(entity: Leaf(1, "0")).observe(on: .custom { work.append($0) }) {
      received.append($0)
    }
    store.update(Leaf.self, id: 1) { $0.text = "1" }
    store.update(Leaf.self, id: 1) { $0.text = "2" }
    #expect(received.values == [Leaf(1, "0")] && work.count == 1)
    for piece in work.values { piece() }
    #expect(received.values == [Leaf(1, "0"), Leaf(1, "2")])
    withExtendedLifetime(subscription) {}
  }

  @Test func `deliveries run on the queue or executor of their observer`() async {
    for delivery in [Delivery.serial, .queue(DispatchQueue(label: "q")), .executor(globalConcurrentExecutor)] {
      let store = EntityStore(delivery: delivery)
      let received = AsyncStream<Leaf>.makeStream()
      let subscription = store.store(entity: Leaf(1, "0")).observe { received.continuation.yield($0) }
      store.update(Leaf.self, id: 1) { $0.text = "1" }
      var values = received.stream.makeAsyncIterator()
      #expect(await values.next() == Leaf(1, "0"))
      #expect(await values.next() == Leaf(1, "1"))
      withExtendedLifetime(subscription) {}
    }
  }

  @MainActor
  @Test func `deliveries run on the main queue if it is the observer's delivery`() async {
    let store = EntityStore(delivery: .main)
    let received = AsyncStream<Bool>.makeStream()
    let subscription = store.store(entity: Leaf(1)).observe { _ in
      MainActor.assertIsolated()
      received.continuation.yield(true)
    }
    store.update(Leaf.self, id: 1) { $0.text = "1" }
    var values = received.stream.makeAsyncIterator()
    #expect(await values.next() == true)
    #expect(await values.next() == true)
    withExtendedLifetime(subscription) {}
  }

  @Test func `an entity notifies before its aggregates, in whichever order they change`() {
    let store = makeStore()
    let held = store.store(entity: Outer(inner: Inner(leaf: Leaf(1))))
    let root = store.store(entity: Root(id: 5, leaf: Leaf(1)))
    let received = Received<String>()
    let subscriptions = [
      root.observe { _ in received.append("root") },
      held.observe { _ in received.append("outer") },
      store.find(Inner.self, id: 1)?.observe { _ in received.append("inner") },
      store.find(Leaf.self, id: 1)?.observe { _ in received.append("leaf") },
    ]
    received.clear()
    store.transaction { store in
      store.update(Root.self, id: 5) { $0.text = "new" }
      store.update(Leaf.self, id: 1) { $0.text = "new" }
    }
    #expect(received.values.first == "leaf" && received.values.last == "outer" && received.count == 4)
    withExtendedLifetime(subscriptions) {}
  }

  @Test func `observers are notified in the order of their beginnings, whichever of them have ended`() {
    let held = store.store(entity: Leaf(1))
    let received = Received<Int>()
    var subscriptions: [Int: EntityStore.Subscription] = [:]
    func begin(_ number: Int) { subscriptions[number] = held.observe { _ in received.append(number) } }
    for number in 0..<8 { begin(number) }
    for (step, ended) in [[0, 5], [2, 7, 3], [1], [6, 8, 9], [4, 10, 11]].enumerated() {
      for number in ended { subscriptions[number] = nil }
      begin(8 + step)
      received.clear()
      store.update(Leaf.self, id: 1) { $0.text = "\(ended)" }
      #expect(received.values == subscriptions.keys.sorted())
      #expect(store.inspect().entities.map(\.observers) == [subscriptions.count])
    }
  }

  @Test func `observers on deliveries of their own and of the store end in any order`() {
    let held = store.store(entity: Leaf(1))
    let received = Received<Int>()
    var subscriptions: [Int: EntityStore.Subscription] = [:]
    func begin(_ number: Int) {
      subscriptions[number] =
        number.isMultiple(of: 3)
        ? held.observe { _ in received.append(number) } : held.observe(on: .immediate) { _ in received.append(number) }
    }
    for number in 1...8 { begin(number) }
    // The fourth step ends the last observer on the delivery of the store.
    for (step, ended) in [[1, 6], [3], [8, 5], [9], [2, 12]].enumerated() {
      for number in ended { subscriptions[number] = nil }
      begin(9 + step)
      received.clear()
      store.update(Leaf.self, id: 1) { $0.text = "\(ended)" }
      #expect(received.values.sorted() == subscriptions.keys.sorted())
      #expect(store.inspect().entities.map(\.observers) == [subscriptions.count])
    }
  }

  /// With a cost that grows with the observers left, the end of so many takes minutes.
  @Test(.timeLimit(.minutes(1)), arguments: [false, true])
  func `200,000 observers of one entity end one by one, the latest first`(haveOwnDelivery: Bool) {
    let held = store.store(entity: Leaf(1))
    var subscriptions = (0..<200_000).map { _ in
      haveOwnDelivery ? held.observe(on: .immediate) { _ in } : held.observe { _ in }
    }
    while !subscriptions.isEmpty { subscriptions.removeLast() }
    #expect(store.inspect().entities.map(\.observers) == [0])
    withExtendedLifetime(held) {}
  }
}
