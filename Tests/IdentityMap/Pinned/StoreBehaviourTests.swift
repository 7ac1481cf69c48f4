import CoherenceIdentityMap
import Dispatch
import Testing

@Suite("Pinned: storing, finding, aliases")
struct StoreBehaviourTests {
  private let store = makeStore()

  @Test func `an entity stored and not held is released at once`() {
    _ = store.store(entity: Leaf(1))
    #expect(store.find(Leaf.self, id: 1) == nil)
  }

  @Test func `an observed and released entity is removed at once`() {
    _ = store.store(entity: Leaf(1)).observe { _ in }
    #expect(store.find(Leaf.self, id: 1) == nil)
  }

  @Test func `a subscription alone retains its entity`() {
    let subscription = store.store(entity: Leaf(1)).observe { _ in }
    #expect(store.find(Leaf.self, id: 1)?.value == Leaf(1))
    subscription.unsubscribe()
    #expect(store.find(Leaf.self, id: 1) != nil, "The observer retains the entity until its release.")
  }

  @Test func `the first store of an entity logs no failure`() {
    let log = Log()
    _ = makeStore(logger: log).store(entity: Leaf(1))
    #expect(log.lines == ["stored Leaf 1"])
  }

  @Test func `the closure for present entities is called when the entity is present`() {
    let calls = Received<Int>()
    let held = store.store(entity: Leaf(1), ifPresent: { _ in calls.append(1) })
    #expect(calls.count == 0)
    _ = store.store(entity: Leaf(1), ifPresent: { _ in calls.append(2) })
    #expect(calls.values == [2] && held.value.id == 1)
  }

  @Test func `find returns the updated entity`() {
    let held = store.store(entity: Leaf(1))
    #expect(store.update(Leaf.self, id: 1) { $0.text = "new" })
    #expect(store.find(Leaf.self, id: 1)?.value.text == "new" && held.current.text == "new")
    #expect(!store.update(Leaf.self, id: 2) { $0.text = "new" })
  }

  @Test func `the value of an observer never changes`() {
    let held = store.store(entity: Leaf(1, "old"))
    _ = store.store(entity: Leaf(1, "new"))
    #expect(held.value == Leaf(1, "old"))
  }

  @Test func `a list of entities keeps their order and repetitions and shows their changes`() {
    let held = store.store(entities: [Leaf(2), Leaf(1), Leaf(2)])
    let (received, subscription) = held.changes()
    store.transaction { store in
      store.update(Leaf.self, id: 1) { $0.text = "a" }
      store.update(Leaf.self, id: 2) { $0.text = "b" }
    }
    #expect(received.values == [[Leaf(2, "b"), Leaf(1, "a"), Leaf(2, "b")]])
    #expect(store.store(entities: [Leaf]()).value == [])
    withExtendedLifetime(subscription) {}
  }

  // MARK: Aliases

  @Test func `an alias retains the elements of its collection`() {
    _ = store.store(entities: [Leaf(1), Leaf(2)], named: .all)
    #expect(store.find(Leaf.self, id: 2) != nil)
  }

  @Test func `an alias retains the entities of its aggregate`() {
    _ = store.store(entity: Root(id: 1, leaf: Leaf(2)), named: .main)
    #expect(store.find(Leaf.self, id: 2) != nil)
  }

  @Test func `an alias alone retains its entity`() {
    _ = store.store(entity: Leaf(1), named: .chosen)
    #expect(store.find(named: .chosen).value == Leaf(1))
  }

  @Test func `an alias of a collection returns its entities`() {
    _ = store.store(entities: [Leaf(1), Leaf(2)], named: .all)
    #expect(store.find(named: .all).value == [Leaf(1), Leaf(2)])
  }

  @Test func `a longer collection under an existing alias replaces the former one`() {
    _ = store.store(entities: [Leaf(1)], named: .all)
    _ = store.store(entities: [Leaf(3), Leaf(1), Leaf(2)], named: .all)
    #expect(store.find(named: .all).value == [Leaf(3), Leaf(1), Leaf(2)])
  }

  @Test func `storing under an alias notifies the observers of the alias and of the entity`() {
    let held = store.store(entity: Leaf(1), named: .chosen)
    let (leaves, s1) = held.changes()
    let (chosen, s2) = store.find(named: .chosen).changes()
    _ = store.store(entity: Leaf(1, "new"), named: .chosen)
    #expect(leaves.values == [Leaf(1, "new")] && chosen.values == [Leaf(1, "new")])
    withExtendedLifetime((s1, s2)) {}
  }

  @Test func `removing all aliases makes their values nil`() {
    _ = store.store(entity: Leaf(1), named: .chosen, modifiedAt: 0)
    store.removeAllAlias()
    #expect(store.find(named: .chosen).value == nil)
  }

  @Test func `removing an alias makes its value nil`() {
    _ = store.store(entity: Leaf(1), named: .chosen)
    store.removeAlias(named: .chosen)
    #expect(store.find(named: .chosen).value == nil)
    #expect(store.find(Leaf.self, id: 1) == nil)
  }

  @Test func `an observer of an alias receives nil when the alias is removed`() {
    _ = store.store(entity: Leaf(1), named: .chosen)
    let (received, subscription) = store.find(named: .chosen).changes()
    store.removeAlias(named: .chosen)
    #expect(received.values == [nil])
    _ = store.store(entity: Leaf(2), named: .chosen)
    #expect(received.values == [nil, Leaf(2)])
    withExtendedLifetime(subscription) {}
  }

  @Test func `observers of all aliases receive nil when all aliases are removed`() {
    _ = store.store(entity: Leaf(1), named: .chosen)
    _ = store.store(entities: [Leaf(1)], named: .all)
    let (one, s1) = store.find(named: .chosen).changes()
    let (all, s2) = store.find(named: .all).changes()
    store.removeAllAlias()
    #expect(one.values == [nil] && all.values == [nil])
    withExtendedLifetime((s1, s2)) {}
  }

  @Test func `an update can point an alias to another entity`() {
    _ = store.store(entity: Leaf(1), named: .chosen, modifiedAt: 0)
    let (received, subscription) = store.find(named: .chosen).changes()
    #expect(store.update(named: .chosen, modifiedAt: 1) { $0 = Leaf(2) })
    #expect(received.values == [Leaf(2)])
    withExtendedLifetime(subscription) {}
  }

  @Test func `entities can be appended to an alias of an empty collection`() {
    _ = store.store(entities: [Leaf](), named: .all, modifiedAt: 0)
    let (received, subscription) = store.find(named: .all).changes()
    #expect(store.find(named: .all).value == [])
    #expect(store.update(named: .all, modifiedAt: 1) { $0.append(Leaf(1)) })
    #expect(received.values == [[Leaf(1)]])
    withExtendedLifetime(subscription) {}
  }

  @Test func `an update of an aliased aggregate notifies the observers of the alias and of the entities in it`() {
    _ = store.store(entity: Root(id: 1, leaf: Leaf(2)), named: .main)
    let (main, s1) = store.find(named: .main).changes()
    let (leaves, s2) = store.find(Leaf.self, id: 2)!.changes()
    #expect(store.update(named: .main) { $0.leaf.text = "new" })
    #expect(leaves.values == [Leaf(2, "new")] && main.values.map { $0?.leaf } == [Leaf(2, "new")])
    withExtendedLifetime((s1, s2)) {}
  }

  @Test func `a nested change reaches the alias of a collection of aggregates`() {
    _ = store.store(entities: [Root(id: 1, leaf: Leaf(2))], named: .roots)
    let (received, subscription) = store.find(named: .roots).changes()
    store.update(Leaf.self, id: 2) { $0.text = "new" }
    #expect(received.values.map { $0?.map(\.leaf) } == [[Leaf(2, "new")]])
    withExtendedLifetime(subscription) {}
  }

  @Test func `an alias without an entity can be observed`() {
    let (received, subscription) = store.find(named: .chosen).changes()
    #expect(!store.update(named: .chosen) { $0.text = "no" })
    _ = store.store(entity: Leaf(1), named: .chosen)
    #expect(received.values == [Leaf(1)])
    withExtendedLifetime(subscription) {}
  }

  @Test func `aliases with equal names and different types are independent`() {
    _ = store.store(entity: Leaf(1), named: AliasKey<Leaf>("test"))
    _ = store.store(entities: [Leaf(2)], named: AliasKey<[Leaf]>("test"))
    store.removeAlias(named: AliasKey<Leaf>("test"))
    #expect(store.find(named: AliasKey<[Leaf]>("test")).value == [Leaf(2)])
  }
}
