import CoherenceIdentityMap
import Testing

@Suite("Bad input")
struct BadInputTests {
  private let store = makeStore()

  @Test func `an aggregate follows a nested enum into another case`() {
    let held = store.store(entity: Root(id: 1, leaf: Leaf(2), wrapper: .leaf(Leaf(3))))
    store.update(Root.self, id: 1) { $0.wrapper = .item(Item(id: 4)) }
    #expect(store.find(Leaf.self, id: 3) == nil && store.find(Item.self, id: 4) != nil)
    store.update(Item.self, id: 4) { $0.key = "new" }
    #expect(held.current.wrapper == .item(Item(id: 4, key: "new")))
    store.update(Root.self, id: 1) { $0.wrapper = .nothing }
    #expect(held.current.wrapper == .nothing && store.find(Item.self, id: 4) == nil)
  }

  @Test func `after the clock is set back a stamped write is rejected and a write without a stamp is accepted`() {
    let held = store.store(entity: Leaf(1, "a"), modifiedAt: 1000)
    #expect(!store.update(Leaf.self, id: 1, modifiedAt: 999) { $0.text = "b" })
    #expect(held.current.text == "a")
    #expect(store.update(Leaf.self, id: 1) { $0.text = "c" })
    #expect(held.current.text == "c")
  }

  @Test func `an update closure that changes the identifier changes nothing`() {
    struct Renamed: Identifiable, Equatable, Sendable {
      var id: Int
    }
    let log = Log()
    let store = makeStore(logger: log)
    let held = store.store(entity: Renamed(id: 1))
    #expect(!store.update(Renamed.self, id: 1) { $0.id = 2 })
    #expect(held.current == Renamed(id: 1) && store.find(Renamed.self, id: 2) == nil)
    #expect(log.lines.last == "rejected Renamed 1: identifierChanged")
  }

  @Test func `an update closure may store or remove the entity, and its result counts unless the entity is removed`() {
    let store = store
    let held = store.store(entity: Leaf(1, "a"))
    store.update(Leaf.self, id: 1) { leaf in
      _ = store.store(entity: Leaf(1, "inside"))
      leaf.text = "result"
    }
    #expect(held.current.text == "result", "The value that the closure leaves counts.")
    #expect(!store.update(Leaf.self, id: 1) { _ in store.remove(Leaf.self, id: 1) })
    #expect(store.find(Leaf.self, id: 1) == nil)
  }

  @Test func `an update closure that throws changes nothing and its error is rethrown`() {
    struct Refusal: Error {}
    let held = store.store(entity: Root(id: 1, leaf: Leaf(2)))
    let (received, subscription) = held.changes()
    #expect(throws: Refusal.self) {
      try store.update(Root.self, id: 1) { root in
        root.leaf.text = "new"
        throw Refusal()
      }
    }
    #expect(held.current.leaf.text == nil && received.count == 0)
    withExtendedLifetime(subscription) {}
  }

  @Test func `an observer may store during a delivery`() {
    let store = store
    let received = Received<Int>()
    let counter = store.store(entity: Leaf(1, "0"))
    let subscription = counter.observe { leaf in
      let number = leaf.text.flatMap { Int($0) } ?? 0
      received.append(number)
      if number < 5 { store.update(Leaf.self, id: 1) { $0.text = "\(number + 1)" } }
    }
    #expect(received.values == [0, 1, 2, 3, 4, 5])
    withExtendedLifetime(subscription) {}
  }

  @Test func `an observer may unsubscribe itself and release others during a delivery`() {
    let store = store
    let box = Box<EntityStore.Subscription>()
    let other = Box<EntityStore.Subscription>()
    let received = Received<String>()
    box.value = store.store(entity: Leaf(1)).observe { leaf in
      received.append("first")
      if leaf.text == "new" {
        box.value?.unsubscribe()
        box.value = nil
        other.value = nil
      }
    }
    other.value = store.find(Leaf.self, id: 1)?.observe { _ in received.append("second") }
    received.clear()
    store.update(Leaf.self, id: 1) { $0.text = "new" }
    #expect(received.values == ["first"])
    #expect(store.find(Leaf.self, id: 1) == nil)
  }

  /// A value shared by a test's closures on one thread.
  // Sendable because the test is on one thread.
  private final class Box<Value>: @unchecked Sendable {
    var value: Value?
  }

  @Test func `a hundred thousand identifiers stored and released leave nothing behind`() {
    let kept = store.store(entity: Leaf(-1))
    for id in 0..<100_000 { _ = store.store(entity: Leaf(id)) }
    #expect(store.count(of: Leaf.self) == 1)
    withExtendedLifetime(kept) {}
  }

  @Test func `identifiers with equal hashes are distinguished`() {
    struct Colliding: Hashable, Sendable {
      let number: Int
      func hash(into hasher: inout Hasher) {}
    }
    struct Thing: Identifiable, Sendable {
      let id: Colliding
    }
    var kept = (0..<300).map { store.store(entity: Thing(id: Colliding(number: $0))) }
    #expect((0..<300).allSatisfy { store.find(Thing.self, id: Colliding(number: $0)) != nil })
    kept.removeSubrange(100..<200)
    #expect((0..<300).count { store.find(Thing.self, id: Colliding(number: $0)) != nil } == 200)
  }

  @Test func `incomparable entities notify observers at every store`() {
    let (received, subscription) = store.store(entity: Opaque(id: 1)).changes()
    _ = store.store(entity: Opaque(id: 1))
    #expect(received.count == 1)
    withExtendedLifetime(subscription) {}
  }

  @Test func `a generic caller of identifiable values stores an aggregate as an aggregate`() {
    func keep<T: Identifiable & Sendable>(_ value: T) -> EntityObserver<T> { store.store(entity: value) }
    let held = keep(Root(id: 1, leaf: Leaf(2)))
    store.update(Leaf.self, id: 2) { $0.text = "new" }
    #expect(held.current.leaf.text == "new")
  }

  @Test func `a cycle of a thousand entities is stored, updated and released`() {
    var person = Person(0, "stub")
    for id in (0..<1000).reversed() { person = Person(id, "p", [person]) }
    var held: EntityObserver<Person>? = store.store(entity: person)
    let (received, subscription) = held!.changes()
    store.update(Person.self, id: 999) { $0.name = "new" }
    var last = received.values[0]
    for _ in 0..<999 { last = last.friends[0] }
    #expect(received.count == 1 && last.name == "new")
    subscription.unsubscribe()
    held = nil
    withExtendedLifetime(subscription) {}
  }
}
