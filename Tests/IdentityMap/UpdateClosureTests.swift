import CoherenceIdentityMap
import Testing

/// The closure of an update may use the store for the entities in its value.
@Suite("Effects of update closures on the store")
struct UpdateClosureTests {
  private struct Refusal: Error {}
  private let store = makeStore()

  @Test func `a child that the closure changes in the store is kept at an unchanged place`() {
    let store = store
    let held = store.store(entity: Root(id: 1, leaf: Leaf(2, "old"), items: [Item(id: 3, key: "old")]))
    store.update(Root.self, id: 1) { root in
      store.update(Leaf.self, id: 2) { $0.text = "stored" }
      _ = store.store(entity: Item(id: 3, key: "stored"))
      root.text = "new"
    }
    #expect(held.current == Root(id: 1, text: "new", leaf: Leaf(2, "stored"), items: [Item(id: 3, key: "stored")]))
    #expect(store.find(Leaf.self, id: 2)?.value.text == "stored")
  }

  @Test func `a change in the closure's value overrides the closure's store of the same child`() {
    let store = store
    let held = store.store(entity: Root(id: 1, leaf: Leaf(2, "old")))
    store.update(Root.self, id: 1) { root in
      store.update(Leaf.self, id: 2) { $0.text = "stored" }
      root.leaf.text = "closure"
    }
    #expect(held.current.leaf.text == "closure" && store.find(Leaf.self, id: 2)?.value.text == "closure")
  }

  @Test func `a child that the closure reads again after it has stored it is kept`() {
    let store = store
    let held = store.store(entity: Root(id: 1, leaf: Leaf(2, "old")))
    store.update(Root.self, id: 1) { root in
      store.update(Leaf.self, id: 2) { $0.text = "stored" }
      root.text = store.find(Root.self, id: 1)?.value.leaf.text ?? ""
    }
    #expect(held.current == Root(id: 1, text: "stored", leaf: Leaf(2, "stored")))
  }

  @Test func `a grandchild that the closure stores is kept when the closure changes the child`() {
    let store = store
    let held = store.store(entity: Person(1, "a", [Person(2, "b", [Person(3, "c")])]))
    store.update(Person.self, id: 1) { person in
      store.update(Person.self, id: 3) { $0.name = "stored" }
      person.friends[0].name = "closure"
    }
    #expect(held.current == Person(1, "a", [Person(2, "closure", [Person(3, "stored")])]))
  }

  @Test func `an entity in the list of an alias that the closure stores is kept`() {
    let store = store
    _ = store.store(entities: [Leaf(1, "old"), Leaf(2, "old")], named: .all)
    store.update(named: .all) { leaves in
      store.update(Leaf.self, id: 1) { $0.text = "stored" }
      leaves[1].text = "closure"
      leaves.append(Leaf(3))
    }
    #expect(store.find(named: .all).value == [Leaf(1, "stored"), Leaf(2, "closure"), Leaf(3)])
  }

  @Test func `an entity in the closure for present entities that the closure stores is kept`() {
    let store = store
    let root = Root(id: 1, leaf: Leaf(2, "old"))
    let held = store.store(entity: root)
    _ = store.store(
      entity: root,
      ifPresent: { root in
        store.update(Leaf.self, id: 2) { $0.text = "stored" }
        root.text = "new"
      })
    #expect(held.current == Root(id: 1, text: "new", leaf: Leaf(2, "stored")))
  }

  @Test func `a closure that throws does not roll back its stores`() {
    let store = store
    let held = store.store(entity: Root(id: 1, leaf: Leaf(2, "old")))
    #expect(throws: Refusal.self) {
      try store.update(Root.self, id: 1) { root in
        store.update(Leaf.self, id: 2) { $0.text = "stored" }
        root.text = "new"
        throw Refusal()
      }
    }
    #expect(held.current == Root(id: 1, leaf: Leaf(2, "stored")))
  }

  @Test func `a transaction that throws rolls back the stores of a closure`() {
    let root = Root(id: 1, leaf: Leaf(2, "old"), items: [Item(id: 3)])
    let held = store.store(entity: root)
    try? store.transaction { store throws in
      store.update(Root.self, id: 1) { root in
        store.update(Leaf.self, id: 2) { $0.text = "stored" }
        store.remove(Item.self, id: 3)
        root.text = "new"
      }
      throw Refusal()
    }
    #expect(held.current == root && store.find(Item.self, id: 3) != nil)
  }

  // MARK: Removals

  @Test func `entities that the closure removes leave unchanged places`() {
    let store = store
    let held = store.store(
      entity: Root(id: 1, leaf: Leaf(2), note: Note(id: 3), items: [Item(id: 4), Item(id: 5)]))
    store.update(Root.self, id: 1) { root in
      store.remove(Note.self, id: 3)
      store.remove(Item.self, id: 4)
      root.text = "new"
      root.items[1].key = "new"
    }
    #expect(held.current == Root(id: 1, text: "new", leaf: Leaf(2), items: [Item(id: 5, key: "new")]))
    #expect(store.find(Note.self, id: 3) == nil && store.find(Item.self, id: 4) == nil)
  }

  @Test func `an entity that the closure removes and changes in its value is stored again`() {
    let store = store
    let held = store.store(entity: Root(id: 1, leaf: Leaf(2), items: [Item(id: 4)]))
    store.update(Root.self, id: 1) { root in
      store.remove(Item.self, id: 4)
      root.items[0].key = "again"
    }
    #expect(held.current.items == [Item(id: 4, key: "again")])
    #expect(store.find(Item.self, id: 4)?.value.key == "again")
  }

  @Test func `an entity that the closure removes leaves the list of an alias`() {
    let store = store
    _ = store.store(entities: [Leaf(1), Leaf(2, "old")], named: .all)
    store.update(named: .all) { leaves in
      store.remove(Leaf.self, id: 1)
      leaves[1].text = "new"
    }
    #expect(store.find(named: .all).value == [Leaf(2, "new")] && store.find(Leaf.self, id: 1) == nil)
  }

  @Test func `an entity that the closure removes does not return with its alias`() {
    let store = store
    _ = store.store(entity: Leaf(1), named: .chosen)
    let isUpdated = store.update(named: .chosen) { _ in store.remove(Leaf.self, id: 1) }
    #expect(!isUpdated && store.find(named: .chosen).value == nil && store.find(Leaf.self, id: 1) == nil)
  }

  // MARK: Stamps

  @Test func `an update does not stamp an unchanged child`() {
    let held = store.store(entity: Root(id: 1, leaf: Leaf(2, "old")), modifiedAt: 1)
    store.update(Root.self, id: 1, modifiedAt: 10) { $0.text = "new" }
    _ = store.store(entity: Leaf(2, "server"), modifiedAt: 5)
    #expect(held.current == Root(id: 1, text: "new", leaf: Leaf(2, "server")))
  }

  @Test func `a child that the closure stores keeps the stamp of that store`() {
    let store = store
    let held = store.store(entity: Root(id: 1, leaf: Leaf(2, "old")), modifiedAt: 1)
    store.update(Root.self, id: 1, modifiedAt: 10) { root in
      _ = store.store(entity: Leaf(2, "stored"), modifiedAt: 5)
      root.text = "new"
    }
    #expect(held.current.leaf.text == "stored")
    _ = store.store(entity: Leaf(2, "server"), modifiedAt: 6)
    #expect(held.current == Root(id: 1, text: "new", leaf: Leaf(2, "server")))
  }

  @Test func `an update with a stamp does not stamp an unchanged aggregate that contains a tentative value`() {
    let held = store.store(entity: Person(1, "a", [Person(2, "b", [Person(3, "c")])]), modifiedAt: 1)
    let change = store.optimistically { $0.update(Person.self, id: 3) { $0.name = "draft" } }
    store.update(Person.self, id: 1, modifiedAt: 10) { $0.name = "new" }
    _ = store.store(entity: Person(2, "server", [Person(3, "c")]), modifiedAt: 5)
    #expect(held.current == Person(1, "new", [Person(2, "server", [Person(3, "draft")])]))
    change.rollback()
    #expect(held.current == Person(1, "new", [Person(2, "server", [Person(3, "c")])]))
  }

  private struct Pair: Aggregate, Equatable {
    let id: Int
    var roots: [Root]
    var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.roots)] }
  }

  @Test(arguments: [false, true])
  func `an update with a stamp does not stamp an unchanged aggregate whose nested entity it changes elsewhere`(
    isOfAlias: Bool
  ) {
    let pairs = AliasKey<[Pair]>("pairs")
    let pair = Pair(id: 1, roots: [Root(id: 3, leaf: Leaf(2, "a")), Root(id: 4, leaf: Leaf(2, "a"))])
    let held = store.store(entities: [pair], named: pairs, modifiedAt: 1)
    if isOfAlias {
      store.update(named: pairs, modifiedAt: 5) { $0[0].roots[0].leaf.text = "b" }
    } else {
      store.update(Pair.self, id: 1, modifiedAt: 5) { $0.roots[0].leaf.text = "b" }
    }
    #expect(held.current[0].roots == [Root(id: 3, leaf: Leaf(2, "b")), Root(id: 4, leaf: Leaf(2, "b"))])
    _ = store.store(entity: Root(id: 4, text: "new", leaf: Leaf(2, "a")), modifiedAt: 3)
    #expect(held.current[0].roots[1] == Root(id: 4, text: "new", leaf: Leaf(2, "b")))
  }
}
