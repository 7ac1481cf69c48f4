import CoherenceIdentityMap
import Testing

@Suite("Pinned: stamps")
struct StampBehaviourTests {
  private let store = makeStore()

  @Test(arguments: [(10.0, false), (9, false), (11, true)])
  func `a higher stamp is accepted and an equal or lower one rejected`(stamp: Stamp, isAccepted: Bool) {
    let held = store.store(entity: Leaf(1, "old"), modifiedAt: 10)
    _ = store.store(entity: Leaf(1, "new"), modifiedAt: stamp)
    #expect(held.current.text == (isAccepted ? "new" : "old"))
  }

  @Test func `a write without a stamp is accepted and keeps the stamp`() {
    let log = Log()
    let store = makeStore(logger: log)
    let held = store.store(entity: Leaf(1, "a"), modifiedAt: 10)
    _ = store.store(entity: Leaf(1, "b"))
    #expect(held.current.text == "b")
    _ = store.store(entity: Leaf(1, "c"), modifiedAt: 9)
    #expect(held.current.text == "b")
    #expect(log.lines.last == "rejected Leaf 1: tooOld(current: 10.0, received: 9.0)")
  }

  @Test func `zero is a stamp, unlike a missing stamp`() {
    let held = store.store(entity: Leaf(1, "a"), modifiedAt: 0)
    _ = store.store(entity: Leaf(1, "b"), modifiedAt: 0)
    #expect(held.current.text == "a")
    let other = store.store(entity: Leaf(2, "a"))
    _ = store.store(entity: Leaf(2, "b"), modifiedAt: -1)
    #expect(other.current.text == "b")
  }

  @Test func `a rejected store returns the stored value`() {
    let held = store.store(entity: Leaf(1, "old"), modifiedAt: 10)
    #expect(store.store(entity: Leaf(1, "new"), modifiedAt: 1).value == held.value)
  }
}
