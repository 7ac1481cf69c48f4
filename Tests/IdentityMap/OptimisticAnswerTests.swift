import CoherenceIdentityMap
import Testing

@Suite("Server results of optimistic changes")
struct OptimisticAnswerTests {
  private struct Refusal: Error {}
  private let store = makeStore()

  private func adding(_ number: Int) -> OptimisticChange {
    store.optimistically { $0.update(Counter.self, id: 1) { $0.count += number } }
  }

  @Test func `a server result replaces the change and does not notify observers of values already visible`() {
    let (received, subscription) = store.store(entity: Counter(id: 1, count: 1)).changes()
    let change = adding(1)
    let stored = change.commit(replacingWith: Counter(id: 1, count: 2))
    #expect(stored.value.count == 2 && stored.current.count == 2 && received.values.map(\.count) == [2])
    change.rollback()
    #expect(stored.current.count == 2)
    withExtendedLifetime(subscription) {}
  }

  @Test func `later changes are applied on top of a server result`() {
    let held = store.store(entity: Counter(id: 1, count: 1))
    let (first, second) = (adding(1), adding(10))
    first.commit(replacingWith: Counter(id: 1, count: 5))
    #expect(held.current.count == 15)
    second.rollback()
    #expect(held.current.count == 5)
  }

  @Test func `a server result with an older stamp than the store's is rejected and the change ends`() {
    let held = store.store(entity: Counter(id: 1, count: 1), modifiedAt: 1)
    let change = adding(1)
    _ = store.store(entity: Counter(id: 1, count: 7), modifiedAt: 10)
    change.commit(replacingWith: Counter(id: 1, count: 2), modifiedAt: 5)
    #expect(held.current.count == 7)
  }

  @Test func `a server result with another identifier replaces the entity that the change stored`() {
    let change = store.optimistically { $0.store(Leaf(-1, "draft")) }
    let stored = change.commit(replacingWith: Leaf(7, "draft"))
    #expect(stored.current == Leaf(7, "draft") && store.find(Leaf.self, id: -1) == nil)
  }

  @Test func `an entity that the change stored stays with its server result`() {
    let change = store.optimistically { $0.store(Leaf(1, "draft")) }
    let (received, subscription) = store.find(Leaf.self, id: 1)!.changes()
    change.commit(replacingWith: Leaf(1, "server"))
    #expect(received.values == [Leaf(1, "server")] && store.find(Leaf.self, id: 1)?.value.text == "server")
    withExtendedLifetime(subscription) {}
  }

  @Test func `an entity that the change removed returns with its server result`() {
    let held = store.store(entity: Root(id: 1, leaf: Leaf(2), items: [Item(id: 3)]))
    let change = store.optimistically { $0.remove(Item.self, id: 3) }
    change.commit(replacingWith: Item(id: 3, key: "server"))
    #expect(held.current.items == [Item(id: 3, key: "server")])
  }

  @Test func `entities inside a server result replace the change's values for them`() {
    let held = store.store(entity: Root(id: 1, text: "old", leaf: Leaf(2, "a")))
    let change = store.optimistically { draft in
      draft.update(Root.self, id: 1) { root in
        root.text += "!"
        root.leaf.text? += "!"
      }
    }
    #expect(held.current == Root(id: 1, text: "old!", leaf: Leaf(2, "a!")))
    let answer = Root(id: 1, text: "server", leaf: Leaf(2, "server"))
    change.commit(replacingWith: answer)
    #expect(held.current == answer)
  }

  @Test func `several server results replace one change`() {
    let held = store.store(entities: [Leaf(1, "a"), Leaf(2, "b"), Leaf(3, "c")])
    let change = store.optimistically { draft in
      for id in 1...3 { draft.update(Leaf.self, id: id) { $0.text? += "!" } }
    }
    change.commit(replacingWith: [Leaf(1, "server"), Leaf(2, "server")])
    #expect(held.current == [Leaf(1, "server"), Leaf(2, "server"), Leaf(3, "c")])
  }

  @Test func `a server result is stored even if the change was rolled back before`() {
    let held = store.store(entity: Counter(id: 1, count: 1))
    let change = adding(1)
    change.rollback()
    change.commit(replacingWith: Counter(id: 1, count: 2))
    #expect(held.current.count == 2)
  }

  @Test func `a server result in a transaction that throws leaves the change open`() {
    let held = store.store(entity: Counter(id: 1, count: 1))
    let change = adding(1)
    try? store.transaction { _ throws in
      change.commit(replacingWith: Counter(id: 1, count: 5))
      throw Refusal()
    }
    #expect(held.current.count == 2)
    change.rollback()
    #expect(held.current.count == 1)
  }
}

private struct Counter: Identifiable, Equatable, Sendable {
  let id: Int
  var count: Int
}
