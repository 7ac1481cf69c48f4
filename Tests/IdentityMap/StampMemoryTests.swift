import CoherenceIdentityMap
import Synchronization
import Testing

@Suite("Remembered stamps")
struct StampMemoryTests {
  /// A clock that moves only when a test sets it.
  private final class Clock: Sendable {
    private let time = Mutex(Duration.zero)
    var now: Duration { time.withLock { $0 } }
    func pass(_ duration: Duration) { time.withLock { $0 += duration } }
  }

  private let clock = Clock()
  private let log = Log()
  private let store: EntityStore

  init() {
    store = EntityStore(delivery: .immediate, logger: log, now: { [clock] in clock.now })
    store.setPolicy(for: Leaf.self) { $0.stampsOutlive = .seconds(60) }
  }

  @Test func `an older value is rejected after its entity was evicted`() {
    _ = store.store(entity: Leaf(1, "new"), modifiedAt: 10)
    let late = store.store(entity: Leaf(1, "old"), modifiedAt: 9)
    #expect(store.find(Leaf.self, id: 1) == nil && late.value.text == "old")
    #expect(log.lines.last == "rejected Leaf 1: tooOld(current: 10.0, received: 9.0)")
    let (received, subscription) = late.changes()
    let newer = store.store(entity: Leaf(1, "newer"), modifiedAt: 11)
    #expect(received.values == [Leaf(1, "newer")] && newer.current.text == "newer")
    withExtendedLifetime(subscription) {}
  }

  @Test func `an older value is rejected after the entity was removed`() {
    let held = store.store(entity: Leaf(1, "new"), modifiedAt: 10)
    store.remove(Leaf.self, id: 1)
    _ = store.store(entity: Leaf(1, "old"), modifiedAt: 10)
    #expect(store.find(Leaf.self, id: 1) == nil)
    _ = store.store(entity: Leaf(1, "newer"), modifiedAt: 11)
    #expect(held.current.text == "newer" && store.find(Leaf.self, id: 1) != nil)
  }

  @Test func `a value without a stamp is accepted and the stamp stays`() {
    _ = store.store(entity: Leaf(1, "new"), modifiedAt: 10)
    let held = store.store(entity: Leaf(1, "any"))
    #expect(held.current.text == "any")
    _ = store.store(entity: Leaf(1, "old"), modifiedAt: 10)
    #expect(held.current.text == "any")
  }

  @Test func `the stamp is forgotten after its time`() {
    _ = store.store(entity: Leaf(1, "new"), modifiedAt: 10)
    clock.pass(.seconds(60))
    let held = store.store(entity: Leaf(1, "old"), modifiedAt: 9)
    #expect(held.current.text == "old" && store.find(Leaf.self, id: 1) != nil)
  }

  /// Whether the store rejects a value with a stamp. Nothing retains the value afterwards.
  private func rejects(_ stamp: Stamp) -> Bool {
    let held = store.store(entity: Leaf(1, "late"), modifiedAt: stamp)
    return withExtendedLifetime(held) { store.find(Leaf.self, id: 1) == nil }
  }

  @Test(arguments: [false, true])
  func `the time of a stamp begins again with the next end of its entity`(isRemoved: Bool) {
    func storeAgain() {
      let held = store.store(entity: Leaf(1, "any"))
      if isRemoved { store.remove(Leaf.self, id: 1) }
      #expect(held.value.text == "any")
    }
    _ = store.store(entity: Leaf(1, "new"), modifiedAt: 10)
    clock.pass(.seconds(50))
    storeAgain()
    clock.pass(.seconds(59))
    #expect(rejects(9))
    clock.pass(.seconds(1))
    #expect(!rejects(9), "A rejected value renews nothing.")
  }

  @Test func `a lower stamp is remembered after the time of a renewed one`() {
    _ = store.store(entity: Leaf(1, "new"), modifiedAt: 10)
    clock.pass(.seconds(50))
    _ = store.store(entity: Leaf(1, "any"))
    clock.pass(.seconds(59))
    // The first stamp is checked now, shortly before its expiry, and a minute after it.
    _ = store.store(entity: Leaf(2, "other"), modifiedAt: 1)
    clock.pass(.seconds(1))
    _ = store.store(entity: Leaf(1, "lower"), modifiedAt: 5)
    #expect(rejects(4))
  }

  @Test func `a store in a transaction that throws leaves no stamp`() {
    struct Refusal: Error {}
    try? store.transaction { store in
      _ = store.store(entity: Leaf(1, "undone"), modifiedAt: 10)
      throw Refusal()
    }
    let held = store.store(entity: Leaf(1, "old"), modifiedAt: 9)
    #expect(held.current.text == "old" && store.find(Leaf.self, id: 1) != nil)
  }

  @Test func `types without a stamp memory forget their stamps`() {
    _ = store.store(entity: Item(id: 1, key: "new"), modifiedAt: 10)
    let held = store.store(entity: Item(id: 1, key: "old"), modifiedAt: 9)
    #expect(held.current.key == "old")
  }
}
