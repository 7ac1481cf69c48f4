import CoherenceIdentityMap
import Testing

/// The forms of `store` without a label for the value.
@Suite("Storing without a label")
struct UnlabelledStoreTests {
  private let store = makeStore()

  @Test func `an entity stored without a label has the name and the stamp of its arguments`() {
    let held = store.store(Leaf(1, "new"), named: .chosen, modifiedAt: 10)
    store.store(Leaf(1, "old"), modifiedAt: 9)
    #expect(held.current == Leaf(1, "new"))
    #expect(store.value(named: AliasKey<Leaf>.chosen) == Leaf(1, "new"))
  }

  @Test func `an entity stored without a label changes a present entity by the update of its arguments`() {
    let held = store.store(Leaf(1, "old"))
    store.store(Leaf(1, "new"), ifPresent: { $0.text = "updated" })
    #expect(held.current == Leaf(1, "updated"))
    let absent = store.store(Leaf(2, "new"), ifPresent: { $0.text = "updated" })
    #expect(absent.current == Leaf(2, "new"))
  }

  @Test func `entities stored without a label have the name and the stamp of their arguments`() {
    let held = store.store([Leaf(1, "new"), Leaf(2, "new")], named: .all, modifiedAt: 10)
    store.store([Leaf(1, "old")], modifiedAt: 9)
    #expect(held.current == [Leaf(1, "new"), Leaf(2, "new")])
    #expect(store.value(named: AliasKey<[Leaf]>.all) == [Leaf(1, "new"), Leaf(2, "new")])
  }
}
