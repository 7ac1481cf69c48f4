import CoherenceIdentityMap
import Dispatch
import Foundation
import Testing

/// Each named after a fault of the model that this module follows, which it does not have.
@Suite("Faults: observers, stamps, aliases")
struct ObservationFaultTests {
  private let store = makeStore()

  @Test func `fault 10: storing an equal value notifies no observer`() {
    let root = Root(id: 1, leaf: Leaf(2, "fresh"))
    let held = store.store(entity: root, modifiedAt: 10)
    let (roots, s1) = held.changes()
    let (leaves, s2) = store.find(Leaf.self, id: 2)!.changes()
    _ = store.store(entity: Leaf(2, "stale"), modifiedAt: 1)
    _ = store.store(entity: Leaf(2, "fresh"))
    _ = store.store(entity: root)
    _ = store.store(entity: root, modifiedAt: 11)
    _ = store.store(entity: Root(id: 1, leaf: Leaf(3)), modifiedAt: 12)
    roots.clear()
    store.update(Leaf.self, id: 2) { $0.text = "no longer in it" }
    #expect(roots.count == 0 && leaves.count == 1)
    withExtendedLifetime((s1, s2)) {}
  }

  @Test func `fault 11a: no change is lost between the first value and the registration`() {
    let received = Received<Leaf>()
    let store = store
    let subscription = store.store(entity: Leaf(1, "0")).observe { leaf in
      received.append(leaf)
      // The first call is not over yet.
      if leaf.text == "0" { store.update(Leaf.self, id: 1) { $0.text = "1" } }
    }
    #expect(received.values == [Leaf(1, "0"), Leaf(1, "1")])
    withExtendedLifetime(subscription) {}
  }

  @Test func `fault 11b: a pending delivery is discarded when its observer unsubscribes`() {
    let gate = DispatchSemaphore(value: 0)
    let queue = DispatchQueue(label: "deliveries")
    let store = EntityStore(queue: queue)
    let (received, subscription) = store.store(entity: Leaf(1)).changes()
    queue.async { gate.wait() }
    _ = store.store(entity: Leaf(1, "new"))
    subscription.unsubscribe()
    gate.signal()
    queue.sync {}
    #expect(received.count == 0)
  }

  @Test func `fault 11c: a concurrent queue runs deliveries one at a time and in order`() {
    let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
    let store = EntityStore(queue: queue)
    let (received, subscription) = store.store(entity: Leaf(0, "0")).changes()
    for number in 1...200 { store.update(Leaf.self, id: 0) { $0.text = "\(number)" } }
    let done = DispatchSemaphore(value: 0)
    let end = store.store(entity: Item(id: 1)).observe { if $0.key == "end" { done.signal() } }
    store.update(Item.self, id: 1) { $0.key = "end" }
    done.wait()
    let numbers = received.values.compactMap { $0.text.flatMap { Int($0) } }
    #expect(numbers == numbers.sorted() && Set(numbers).count == numbers.count && numbers.last == 200)
    withExtendedLifetime((subscription, end)) {}
  }

  @Test func `fault 11d: an observer can be added on its delivery queue`() {
    let queue = DispatchQueue(label: "deliveries")
    let store = EntityStore(queue: queue)
    let received = Received<Leaf>()
    let held = store.store(entity: Leaf(1))
    let subscription = queue.sync { held.observe { received.append($0) } }
    #expect(received.count == 1)
    withExtendedLifetime(subscription) {}
  }

  @Test func `fault 11e: observers of an entity are notified before observers of its aggregates`() {
    let order = Received<String>()
    let held = store.store(entity: Outer(inner: Inner(leaf: Leaf(1))))
    let s1 = held.observe { _ in order.append("outer") }
    let s2 = store.find(Inner.self, id: 1)!.observe { _ in order.append("inner") }
    let s3 = store.find(Leaf.self, id: 1)!.observe { _ in order.append("leaf") }
    order.clear()
    store.update(Leaf.self, id: 1) { $0.text = "new" }
    #expect(order.values == ["leaf", "inner", "outer"])
    withExtendedLifetime((s1, s2, s3)) {}
  }

  @Test func `fault 15: the closure for present entities changes the stored value`() {
    let held = store.store(entity: Leaf(1, "stored"))
    _ = store.store(entity: Leaf(1, "incoming"), ifPresent: { $0.text? += " and changed" })
    #expect(held.current == Leaf(1, "stored and changed"))
  }

  @Test func `fault 16: a removed alias accepts a lower stamp`() {
    _ = store.store(entity: Leaf(1), named: .chosen, modifiedAt: 10)
    store.removeAlias(named: .chosen)
    _ = store.store(entity: Leaf(2), named: .chosen, modifiedAt: 5)
    #expect(store.find(named: .chosen).value == Leaf(2))
    store.removeAllAlias()
    _ = store.store(entity: Leaf(3), named: .chosen, modifiedAt: 1)
    #expect(store.find(named: .chosen).value == Leaf(3))
  }

  @Test func `fault 18: closures and loggers may use the store`() {
    let logger = Curious()
    let store = makeStore(logger: logger)
    logger.store = store
    let held = store.store(entity: Leaf(1))
    store.update(Leaf.self, id: 1) { leaf in
      leaf.text = store.find(Leaf.self, id: 1)?.value.text ?? "none"
      _ = store.store(entity: Leaf(2), named: .chosen)
    }
    _ = store.store(entity: Leaf(1), ifPresent: { $0.text? += store.find(named: .chosen).value == nil ? "" : "!" })
    #expect(held.current.text == "none!")
    #expect(logger.found.count > 0)
  }

  /// A logger that asks the store.
  private final class Curious: EntityStore.Logger, @unchecked Sendable {
    // Sendable because the test uses it on one thread.
    weak var store: EntityStore?
    let found = Received<Bool>()

    func didStore<T: Identifiable>(_ type: T.Type, id: T.ID) {
      found.append(store?.find(Leaf.self, id: 1) != nil)
    }

    func didFailedToStore<T: Identifiable>(_ type: T.Type, id: T.ID, error: any Error) {}
    func didRegisterAlias<T>(_ alias: AliasKey<T>) {}
    func didUnregisterAlias<T>(_ alias: AliasKey<T>) {}
  }

  @Test func `fault 19: empty aliases without observers leave nothing behind`() {
    for number in 0..<100 {
      let key = AliasKey<Leaf>("alias \(number)")
      _ = store.store(entity: Leaf(number), named: key)
      store.removeAlias(named: key)
      _ = store.find(named: AliasKey<Leaf>("never \(number)"))
    }
    #expect(store.inspect().aliases == [] && store.inspect().entities.isEmpty)
    #expect(store.count(of: Leaf.self) == 0)
  }

  @Test(arguments: [Stamp.nan, -.nan])
  func `fault 20a: a NaN stamp is rejected and changes no stamp`(stamp: Stamp) {
    let log = Log()
    let store = makeStore(logger: log)
    let held = store.store(entity: Leaf(1, "old"), modifiedAt: 10)
    _ = store.store(entity: Leaf(1, "new"), modifiedAt: stamp)
    #expect(held.current.text == "old" && log.lines.last == "rejected Leaf 1: notANumber")
    _ = store.store(entity: Leaf(1, "new"), modifiedAt: 9)
    #expect(held.current.text == "old", "The check still works.")
  }

  @Test func `fault 20b: infinite stamps are ordered`() {
    let held = store.store(entity: Leaf(1, "a"), modifiedAt: -.infinity)
    _ = store.store(entity: Leaf(1, "b"), modifiedAt: 0)
    #expect(held.current.text == "b")
    _ = store.store(entity: Leaf(1, "c"), modifiedAt: .infinity)
    _ = store.store(entity: Leaf(1, "d"), modifiedAt: .greatestFiniteMagnitude)
    #expect(held.current.text == "c")
  }

  @Test func `fault 22: the calls of the documentation compile`() {
    #expect(AliasKey<Leaf>("user") == AliasKey<Leaf>(named: "user"))
    #expect(Date(timeIntervalSinceReferenceDate: 5).stamp == 5)
  }
}
