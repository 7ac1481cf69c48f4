import CoherenceIdentityMap
import Testing

@Suite("Transactions and removal")
struct TransactionTests {
  private struct Refusal: Error {}
  private let store = makeStore()

  @Test func `a transaction notifies each observer once`() {
    let held = store.store(entity: Root(id: 1, leaf: Leaf(2), items: [Item(id: 3)]))
    let (received, subscription) = held.changes()
    store.transaction { store in
      store.update(Leaf.self, id: 2) { $0.text = "a" }
      store.update(Item.self, id: 3) { $0.key = "b" }
      store.update(Root.self, id: 1) { $0.text = "c" }
    }
    #expect(received.values == [Root(id: 1, text: "c", leaf: Leaf(2, "a"), items: [Item(id: 3, key: "b")])])
    withExtendedLifetime(subscription) {}
  }

  @Test func `a transaction that throws is rolled back and notifies no observer`() {
    let root = Root(id: 1, leaf: Leaf(2), note: Note(id: 3), items: [Item(id: 4)])
    let held = store.store(entity: root, named: .main, modifiedAt: 5)
    let (received, subscription) = held.changes()
    let (main, s2) = store.find(named: .main).changes()
    #expect(throws: Refusal.self) {
      try store.transaction { store in
        store.update(Leaf.self, id: 2) { $0.text = "new" }
        store.remove(Item.self, id: 4)
        _ = store.store(entity: Root(id: 1, text: "new", leaf: Leaf(9)), modifiedAt: 6)
        _ = store.store(entity: Leaf(10), named: .chosen)
        store.removeAlias(named: .main)
        store.remove(Root.self, id: 1)
        throw Refusal()
      }
    }
    #expect(held.current == root && store.find(Root.self, id: 1)?.value == root)
    #expect(store.find(named: .main).value == root && store.find(named: .chosen).value == nil)
    #expect(store.find(Leaf.self, id: 9) == nil && store.find(Leaf.self, id: 10) == nil)
    #expect(received.count == 0 && main.count == 0)
    _ = store.store(entity: Root(id: 1, text: "x", leaf: Leaf(2)), modifiedAt: 6)
    #expect(held.current.text == "x", "The stamp is back as well.")
    store.update(Leaf.self, id: 2) { $0.text = "y" }
    #expect(held.current.leaf.text == "y", "The rollback restores the links too.")
    withExtendedLifetime((subscription, s2)) {}
  }

  @Test func `an inner transaction that throws is rolled back alone`() {
    let held = store.store(entities: [Leaf(1), Leaf(2)])
    store.transaction { store in
      store.update(Leaf.self, id: 1) { $0.text = "outer" }
      try? store.transaction { store in
        store.update(Leaf.self, id: 1) { $0.text = "inner" }
        store.update(Leaf.self, id: 2) { $0.text = "inner" }
        throw Refusal()
      }
    }
    #expect(held.current == [Leaf(1, "outer"), Leaf(2)])
  }

  @Test func `an entity stored in a transaction is findable in it and retained by the returned observer`() {
    let held = store.transaction { store in
      let held = store.store(entity: Leaf(1))
      #expect(store.find(Leaf.self, id: 1) != nil)
      return held
    }
    #expect(store.find(Leaf.self, id: 1)?.value == held.value)
  }

  @Test func `removing an entity removes it from aggregates, lists and aliases`() {
    let root = store.store(
      entity: Root(
        id: 1, leaf: Leaf(2), note: Note(id: 3), items: [Item(id: 4), Item(id: 5)], wrapper: .leaf(Leaf(6))),
      named: .main)
    _ = store.store(entities: [Leaf(6), Leaf(7)], named: .all)
    store.transaction { store in
      #expect(store.remove(Note.self, id: 3) && store.remove(Item.self, id: 4) && store.remove(Leaf.self, id: 6))
    }
    #expect(root.current == Root(id: 1, leaf: Leaf(2), items: [Item(id: 5)]))
    #expect(store.find(named: .all).value == [Leaf(7)])
    #expect(!store.remove(Note.self, id: 3))
  }

  @Test func `an aggregate is removed with an entity that it requires`() {
    let root = store.store(entity: Root(id: 1, leaf: Leaf(2)), named: .main)
    _ = store.store(entities: [root.value, Root(id: 5, leaf: Leaf(6))], named: .roots)
    store.remove(Leaf.self, id: 2)
    #expect(store.find(Root.self, id: 1) == nil && store.find(named: .main).value == nil)
    #expect(store.find(named: .roots).value?.map(\.id) == [5])
  }

  @Test func `an identifier can be observed before its entity is stored and after it is removed`() {
    let awaited = store.await(Leaf.self, id: 1)
    let (received, subscription) = awaited.changes()
    #expect(awaited.value == nil)
    _ = store.store(entity: Leaf(1, "a"))
    #expect(store.find(Leaf.self, id: 1) != nil, "The awaiting observer retains the entity.")
    store.update(Leaf.self, id: 1) { $0.text = "b" }
    store.remove(Leaf.self, id: 1)
    _ = store.store(entity: Leaf(1, "c"))
    #expect(received.values == [Leaf(1, "a"), Leaf(1, "b"), nil, Leaf(1, "c")])
    withExtendedLifetime(subscription) {}
  }

  @Test func `the change log contains the source of each change`() {
    store.keepChangeLog(3)
    var held: EntityObserver<Leaf>? = store.transaction(origin: "socket") { $0.store(entity: Leaf(1, "secret")) }
    store.update(Leaf.self, id: 1) { $0.text = "more" }
    held = nil
    let log = store.changeLog
    #expect(
      log.map { "\($0.number) \($0.kind) \($0.type) \($0.id) \($0.origin ?? "-")" } == [
        "1 stored Leaf 1 socket", "2 stored Leaf 1 -", "3 removed Leaf 1 -",
      ])
    _ = store.store(entity: Leaf(2))
    #expect(store.changeLog.map(\.number) == [3, 4, 5] && held == nil)
  }

  @Test func `the inspection lists the holders of entities and shows no values`() {
    let root = store.store(entity: Root(id: 1, text: "secret", leaf: Leaf(2, "secret")), named: .main, modifiedAt: 3)
    let subscription = root.observe { _ in }
    let inspection = store.inspect()
    #expect(inspection.entities.map(\.entity) == ["Leaf 2", "Root 1"])
    #expect(
      inspection.entities[0].containers == ["Root 1"] && inspection.entities[1].containers == ["alias main of Root"])
    #expect(inspection.entities[1].observers == 1 && inspection.entities[1].stamp == 3)
    #expect(!inspection.description.contains("secret") && inspection.description.contains("alias main of Root"))
    withExtendedLifetime(subscription) {}
  }

  @Test func `the inspection shows the entities that a lifetime retains, and those with tentative changes`() {
    store.setPolicy(for: Item.self) { $0.lifetime = .last(2) }
    _ = store.store(entity: Item(id: 1))
    let held = store.store(entity: Leaf(2))
    let change = store.optimistically { $0.update(Leaf.self, id: 2) { $0.text = "secret" } }
    let inspection = store.inspect()
    let entries = inspection.entities
    #expect(entries.map(\.entity) == ["Item 1", "Leaf 2"])
    #expect(entries.map(\.isKeptByLifetime) == [true, false])
    #expect(entries.map(\.isOptimistic) == [false, true])
    #expect(entries.map { $0.handles > 0 } == [false, true])
    let lines = inspection.description.split(separator: "\n")
    #expect(lines.contains("Item 1: retained by its lifetime"))
    #expect(lines.contains { $0.hasPrefix("Leaf 2:") && $0.hasSuffix(" optimistic") })
    change.rollback()
    withExtendedLifetime(held) {}
  }
}
