import CoherenceIdentityMap
import Testing

@Suite("Optimistic changes")
struct OptimisticTests {
  private let store = makeStore()

  @Test func `an optimistic change is visible at once and can be rolled back`() {
    let held = store.store(entity: Leaf(1, "sure"))
    let (received, subscription) = held.changes()
    let change = store.optimistically { $0.update(Leaf.self, id: 1) { $0.text? += "!" } }
    #expect(held.current.text == "sure!")
    change.rollback()
    change.commit()
    #expect(received.values == [Leaf(1, "sure!"), Leaf(1, "sure")])
    withExtendedLifetime(subscription) {}
  }

  @Test func `confirmed data is stored below a tentative change`() {
    let held = store.store(entity: Leaf(1, "sure"))
    let change = store.optimistically { $0.update(Leaf.self, id: 1) { $0.text? += "!" } }
    _ = store.store(entity: Leaf(1, "surer"))
    #expect(held.current.text == "surer!")
    change.rollback()
    #expect(held.current.text == "surer")
  }

  @Test func `optimistic changes stack and are rolled back one by one`() {
    let held = store.store(entity: Leaf(1, "0"))
    let first = store.optimistically { $0.update(Leaf.self, id: 1) { $0.text? += "1" } }
    let second = store.optimistically { $0.update(Leaf.self, id: 1) { $0.text? += "2" } }
    #expect(held.current.text == "012")
    first.rollback()
    #expect(held.current.text == "02")
    second.commit()
    #expect(held.current.text == "02")
    _ = store.store(entity: Leaf(1, "3"))
    #expect(held.current.text == "3", "What is sure can be replaced.")
  }

  @Test func `an entity stored tentatively is removed by a rollback and stays after a commit`() {
    let (all, subscription) = store.query(Leaf.self).changes()
    var change: OptimisticChange? = store.optimistically { $0.store(Leaf(1, "draft")) }
    #expect(store.find(Leaf.self, id: 1)?.value.text == "draft")
    change = nil
    #expect(store.find(Leaf.self, id: 1) == nil && change == nil)
    let other = store.optimistically { $0.store(Leaf(2, "draft")) }
    let held = store.find(Leaf.self, id: 2)
    other.commit()
    #expect(held?.current.text == "draft")
    #expect(all.values.map { $0.map(\.id) } == [[1], [], [2]])
    withExtendedLifetime(subscription) {}
  }

  @Test(arguments: [false, true])
  func `an update of an entity that another change has stored is confirmed with that change`(isConfirmed: Bool) {
    let storing = store.optimistically { $0.store(Leaf(1, "draft")) }
    let held = store.find(Leaf.self, id: 1)
    let update = store.optimistically { $0.update(Leaf.self, id: 1) { $0.text? += "!" } }
    update.commit()
    #expect(store.find(Leaf.self, id: 1)?.value.text == "draft!")
    if isConfirmed { storing.commit() } else { storing.rollback() }
    #expect(store.find(Leaf.self, id: 1)?.value.text == (isConfirmed ? "draft!" : nil))
    withExtendedLifetime((held, update)) {}
  }

  @Test func `an update of an entity that another change has stored is rolled back alone`() {
    let storing = store.optimistically { $0.store(Leaf(1, "draft")) }
    let held = store.find(Leaf.self, id: 1)
    store.optimistically { $0.update(Leaf.self, id: 1) { $0.text? += "!" } }.rollback()
    #expect(store.find(Leaf.self, id: 1)?.value.text == "draft")
    storing.commit()
    #expect(held?.current.text == "draft")
  }

  @Test func `an aggregate with an optimistic change follows its children`() {
    let held = store.store(entity: Root(id: 1, leaf: Leaf(2), items: [Item(id: 3)]))
    let change = store.optimistically { draft in
      draft.update(Root.self, id: 1) {
        $0.text = "draft"
        $0.items.append(Item(id: 4))
      }
    }
    store.update(Leaf.self, id: 2) { $0.text = "new" }
    store.update(Item.self, id: 3) { $0.key = "new" }
    #expect(
      held.current == Root(id: 1, text: "draft", leaf: Leaf(2, "new"), items: [Item(id: 3, key: "new"), Item(id: 4)]))
    change.rollback()
    #expect(held.current == Root(id: 1, leaf: Leaf(2, "new"), items: [Item(id: 3, key: "new")]))
    #expect(store.find(Item.self, id: 4) == nil)
  }
}
