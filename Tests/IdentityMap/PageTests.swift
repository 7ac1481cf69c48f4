import CoherenceIdentityMap
import Testing

@Suite("Pages of a list")
struct PageTests {
  private let store = makeStore()

  @Test func `appending a page skips entities that the list contains already`() {
    #expect(store.append(entities: [Leaf(1, "a"), Leaf(2, "b")], named: .all) == 2)
    #expect(store.append(entities: [Leaf(2, "newer"), Leaf(3, "c")], named: .all) == 1)
    #expect(store.find(named: .all).value == [Leaf(1, "a"), Leaf(2, "newer"), Leaf(3, "c")])
  }

  @Test func `of an entity that a page contains twice the first index and the last value count`() {
    #expect(store.append(entities: [Leaf(1, "a"), Leaf(2), Leaf(1, "b")], named: .all) == 2)
    #expect(store.find(named: .all).value == [Leaf(1, "b"), Leaf(2)])
  }

  @Test func `observers of a list are notified once of a page, and not of a page without changes`() {
    let (received, subscription) = store.find(named: .all).changes()
    store.append(entities: [Leaf(1), Leaf(2)], named: .all)
    store.append(entities: [Leaf(2)], named: .all)
    store.append(entities: [Leaf](), named: .all)
    #expect(received.values == [[Leaf(1), Leaf(2)]])
    store.append(entities: [Leaf(2, "new"), Leaf(3)], named: .all)
    #expect(received.values == [[Leaf(1), Leaf(2)], [Leaf(1), Leaf(2, "new"), Leaf(3)]])
    withExtendedLifetime(subscription) {}
  }

  @Test func `an empty page stores an empty list under its alias`() {
    #expect(store.find(named: .all).value == nil)
    #expect(store.append(entities: [Leaf](), named: .all) == 0)
    #expect(store.find(named: .all).value == [])
  }

  @Test func `the stamp of a page applies to its entities and not to the list`() {
    _ = store.store(entities: [Leaf(1, "fresh")], named: .all, modifiedAt: 10)
    #expect(store.append(entities: [Leaf(1, "late"), Leaf(2, "b")], named: .all, modifiedAt: 5) == 1)
    #expect(store.find(named: .all).value == [Leaf(1, "fresh"), Leaf(2, "b")])
    _ = store.store(entity: Leaf(2, "later"), modifiedAt: 4)
    #expect(store.find(named: .all).value?.last == Leaf(2, "b"))
  }

  @Test func `an entity with a higher remembered stamp is skipped in a page`() {
    store.setPolicy(for: Leaf.self) { $0.stampsOutlive = .seconds(3600) }
    _ = store.store(entity: Leaf(1, "fresh"), modifiedAt: 10)
    #expect(store.append(entities: [Leaf(1, "late"), Leaf(2)], named: .all, modifiedAt: 5) == 1)
    #expect(store.find(named: .all).value == [Leaf(2)])
  }

  @Test func `appending a page skips tentatively removed entities that the list contains`() {
    store.append(entities: [Leaf(1), Leaf(2)], named: .all)
    let change = store.optimistically { $0.remove(Leaf.self, id: 1) }
    store.append(entities: [Leaf(3)], named: .all)
    #expect(store.find(named: .all).value == [Leaf(2), Leaf(3)])
    change.rollback()
    #expect(store.find(named: .all).value == [Leaf(1), Leaf(2), Leaf(3)])
  }

  @Test func `a page of aggregates keeps the entities in them current`() {
    let page = [Root(id: 1, leaf: Leaf(9)), Root(id: 2, leaf: Leaf(9))]
    store.append(entities: page, named: .roots)
    store.update(Leaf.self, id: 9) { $0.text = "new" }
    #expect(store.find(named: .roots).value?.allSatisfy { $0.leaf.text == "new" } == true)
  }
}
