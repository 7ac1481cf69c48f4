import CoherenceIdentityMap
import Testing

@Suite("Optimistic removal")
struct OptimisticRemovalTests {
  private let store = makeStore()
  private let root = Root(
    id: 1, leaf: Leaf(2), note: Note(id: 3), items: [Item(id: 4), Item(id: 5)], wrapper: .item(Item(id: 4)))
  private let without4 = Root(id: 1, leaf: Leaf(2), note: Note(id: 3), items: [Item(id: 5)])

  @Test func `a tentative removal hides an entity everywhere at once and a rollback restores it everywhere`() {
    let (held, item) = (store.store(entity: root, named: .main), store.find(Item.self, id: 4))
    let list = store.store(entities: [Item(id: 4), Item(id: 5)])
    let (query, awaited) = (store.query(Item.self, sortedBy: \.id), store.await(Item.self, id: 4))
    let change = store.optimistically { $0.remove(Item.self, id: 4) }
    #expect(store.find(Item.self, id: 4) == nil && !store.update(Item.self, id: 4) { $0.key = "x" })
    #expect(held.current == without4 && store.find(named: .main).value == without4)
    #expect(list.current == [Item(id: 5)] && query.current == [Item(id: 5)] && awaited.current == nil)
    change.rollback()
    #expect(store.find(Item.self, id: 4)?.value == Item(id: 4) && item?.current == Item(id: 4))
    #expect(held.current == root && store.find(named: .main).value == root)
    #expect(list.current.map(\.id) == [4, 5] && query.current.map(\.id) == [4, 5] && awaited.current?.id == 4)
    store.update(Item.self, id: 4) { $0.key = "later" }
    #expect(held.current.items[0].key == "later", "The rollback restores the links too.")
  }

  @Test func `observers are notified once of a tentative removal and once of its rollback`() {
    let held = store.store(entity: root)
    let (received, subscription) = held.changes()
    let change = store.optimistically { $0.remove(Item.self, id: 4) }
    change.rollback()
    #expect(received.values == [without4, root])
    withExtendedLifetime(subscription) {}
  }

  @Test func `the confirmation of a removal does not notify the observers of lists and aliases again`() {
    let list = store.store(entities: [Item(id: 4), Item(id: 5)], named: AliasKey<[Item]>("items"))
    _ = store.store(entity: Leaf(1), named: .chosen)
    let (items, first) = list.changes()
    let (entries, second) = store.find(named: AliasKey<[Item]>("items")).changes()
    let (chosen, third) = store.find(named: .chosen).changes()
    let item = store.optimistically { $0.remove(Item.self, id: 4) }
    let leaf = store.optimistically { $0.remove(Leaf.self, id: 1) }
    item.commit()
    store.remove(Leaf.self, id: 1)
    #expect(items.values == [[Item(id: 5)]] && entries.values == [[Item(id: 5)]] && chosen.values == [nil])
    leaf.rollback()
    #expect(chosen.count == 1 && store.find(Leaf.self, id: 1) == nil)
    withExtendedLifetime((first, second, third)) {}
  }

  @Test func `a confirmed removal stays`() {
    let held = store.store(entity: root, named: .main)
    let change = store.optimistically { $0.remove(Item.self, id: 4) }
    change.commit()
    change.rollback()
    #expect(store.find(Item.self, id: 4) == nil && held.current == without4)
    #expect(store.find(named: .main).value == without4)
    let again = store.store(entity: Item(id: 4, key: "again"))
    #expect(again.current.key == "again" && held.current == without4, "The entity can be stored again.")
  }

  @Test func `a value stored during a tentative removal is visible after its rollback`() {
    let held = store.store(entity: root)
    let change = store.optimistically { $0.remove(Item.self, id: 4) }
    _ = store.store(entity: Item(id: 4, key: "newer"))
    var newer = root
    newer.text = "newer"
    newer.wrapper = nil
    newer.items = [Item(id: 6), Item(id: 4, key: "newest"), Item(id: 5)]
    _ = store.store(entity: newer)
    #expect(store.find(Item.self, id: 4) == nil)
    #expect(held.current.text == "newer" && held.current.items.map(\.id) == [6, 5])
    change.rollback()
    #expect(held.current.items == [Item(id: 6), Item(id: 4, key: "newest"), Item(id: 5)])
    #expect(store.find(Item.self, id: 4)?.value.key == "newest")
  }

  @Test func `removing a required entity of a tentatively removed aggregate removes the aggregate`() {
    let held = store.store(entity: root)
    let items = store.store(entities: [Item(id: 8), Item(id: 9)])
    let change = store.optimistically { $0.update(Root.self, id: root.id) { $0.items += items.value } }
    let removal = store.optimistically { $0.remove(Root.self, id: root.id) }
    _ = store.store(entity: Root(id: root.id, leaf: root.leaf))
    store.remove(Leaf.self, id: root.leaf.id)
    removal.rollback()
    change.rollback()
    #expect(store.find(Root.self, id: root.id) == nil)
    withExtendedLifetime(held) {}
  }

  @Test func `an aggregate stored during a tentative removal does not show the removed entity`() {
    let held = store.store(entity: root)
    let change = store.optimistically { $0.remove(Item.self, id: 4) }
    let other = store.store(entity: Root(id: 9, leaf: Leaf(2), items: [Item(id: 4), Item(id: 7)]))
    #expect(other.value.items.map(\.id) == [7] && other.current.items.map(\.id) == [7])
    change.rollback()
    #expect(other.current.items.map(\.id) == [4, 7] && held.current == root)
  }

  @Test func `an aggregate disappears and returns with an entity that it requires`() {
    let held = store.store(entity: Outer(inner: Inner(leaf: Leaf(1, "a"))))
    let list = store.store(entities: [held.value])
    let change = store.optimistically { $0.remove(Leaf.self, id: 1) }
    #expect(store.find(Outer.self, id: 1) == nil && store.find(Inner.self, id: 1) == nil && list.current.isEmpty)
    _ = store.store(entity: Leaf(1, "b"))
    change.rollback()
    #expect(store.find(Outer.self, id: 1)?.value.inner.leaf.text == "b" && list.current.count == 1)
    #expect(held.current.inner.leaf.text == "b")
    store.optimistically { $0.remove(Leaf.self, id: 1) }.commit()
    #expect(store.find(Outer.self, id: 1) == nil && store.find(Leaf.self, id: 1) == nil && list.current.isEmpty)
  }

  /// An aggregate with an optional aggregate in it.
  private struct Shelf: Aggregate, Equatable {
    let id: Int
    var inner: Inner?
    var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.inner)] }
  }

  @Test func `a confirmed removal is not reverted by the container of an aggregate that it removed`() {
    let held = store.store(entity: Shelf(id: 1, inner: Inner(leaf: Leaf(1))))
    store.optimistically { $0.remove(Leaf.self, id: 1) }.commit()
    #expect(held.current == Shelf(id: 1))
    #expect(store.find(Inner.self, id: 1) == nil && store.find(Leaf.self, id: 1) == nil)
  }

  @Test func `a confirmed removal during a tentative one survives the rollback`() {
    let held = store.store(entity: root)
    let change = store.optimistically { $0.remove(Item.self, id: 4) }
    #expect(!store.remove(Item.self, id: 4), "The removed entity is not visible.")
    change.rollback()
    #expect(store.find(Item.self, id: 4) == nil && held.current == without4)
  }

  // MARK: Entities that another change puts in

  @Test(arguments: [false, true])
  func `a removed entity is not inserted again by another tentative change`(isConfirmed: Bool) {
    let (held, item) = (store.store(entity: without4), store.store(entity: Item(id: 4)))
    let putting = store.optimistically { $0.store(root) }
    let removal = store.optimistically { $0.remove(Item.self, id: 4) }
    #expect(held.current == without4)
    if isConfirmed { removal.commit() } else { store.remove(Item.self, id: 4) }
    #expect(held.current == without4 && store.find(Item.self, id: 4) == nil)
    removal.rollback()
    #expect(held.current == without4 && store.find(Item.self, id: 4) == nil)
    putting.rollback()
    #expect(held.current == without4 && store.find(Item.self, id: 4) == nil)
    withExtendedLifetime(item) {}
  }

  @Test(arguments: [false, true])
  func `an aggregate returns to its confirmed value when an entity that a tentative change put in is removed`(
    isConfirmed: Bool
  ) {
    let (held, leaf) = (store.store(entity: root), store.store(entity: Leaf(7)))
    let putting = store.optimistically { $0.store(Root(id: 1, leaf: Leaf(7))) }
    let removal = store.optimistically { $0.remove(Leaf.self, id: 7) }
    #expect(store.find(Root.self, id: 1) == nil)
    if isConfirmed { removal.commit() } else { store.remove(Leaf.self, id: 7) }
    #expect(store.find(Root.self, id: 1)?.value == root && store.find(Leaf.self, id: 7) == nil)
    removal.rollback()
    putting.rollback()
    #expect(held.current == root)
    withExtendedLifetime(leaf) {}
  }

  @Test func `a change of other fields outlasts the removal of an entity that another change put in`() {
    let (held, leaf) = (store.store(entity: root), store.store(entity: Leaf(7)))
    let putting = store.optimistically { $0.update(Root.self, id: 1) { $0.leaf = Leaf(7) } }
    let text = store.optimistically { $0.update(Root.self, id: 1) { $0.text = "new" } }
    store.remove(Leaf.self, id: 7)
    #expect(held.current.leaf == Leaf(2) && held.current.text == "new")
    text.commit()
    putting.commit()
    #expect(held.current.leaf == Leaf(2) && held.current.text == "new")
    withExtendedLifetime(leaf) {}
  }

  @Test func `an update of an entity that was stored again leaves it removed when the store is rolled back`() {
    let held = store.store(entity: Leaf(1, "old"))
    let removal = store.optimistically { $0.remove(Leaf.self, id: 1) }
    let storing = store.optimistically { $0.store(Leaf(1, "again")) }
    let update = store.optimistically { $0.update(Leaf.self, id: 1) { $0.text? += "!" } }
    #expect(store.find(Leaf.self, id: 1)?.value.text == "again!")
    storing.rollback()
    #expect(store.find(Leaf.self, id: 1) == nil)
    removal.rollback()
    #expect(held.current.text == "old!")
    update.rollback()
    #expect(held.current.text == "old")
  }

  @Test(arguments: [false, true])
  func `an aggregate that a tentative change inserted is removed with an entity that it requires`(isConfirmed: Bool) {
    let leaf = store.store(entity: Leaf(7))
    let putting = store.optimistically { $0.store(Root(id: 1, leaf: Leaf(7))) }
    let removal = store.optimistically { $0.remove(Leaf.self, id: 7) }
    if isConfirmed { removal.commit() } else { store.remove(Leaf.self, id: 7) }
    removal.rollback()
    putting.commit()
    #expect(store.find(Root.self, id: 1) == nil && store.find(Leaf.self, id: 7) == nil)
    withExtendedLifetime(leaf) {}
  }

  @Test(arguments: [false, true])
  func `a confirmed removal leaves an aggregate that another change has stored`(isConfirmed: Bool) {
    let item = store.store(entity: Item(id: 4))
    let putting = store.optimistically { $0.store(root) }
    let held = store.find(Root.self, id: 1)
    let removal = store.optimistically { $0.remove(Item.self, id: 4) }
    removal.commit()
    #expect(store.find(Item.self, id: 4) == nil)
    #expect(store.find(Root.self, id: 1)?.value == without4 && held?.current == without4)
    if isConfirmed { putting.commit() } else { putting.rollback() }
    #expect((store.find(Root.self, id: 1) != nil) == isConfirmed)
    withExtendedLifetime((item, held, removal)) {}
  }

  @Test func `an entity removed from a tentatively stored aggregate does not return with a rollback of another change`()
  {
    store.setPolicy(for: Leaf.self) { $0.lifetime = .pinned }
    store.setPolicy(for: Item.self) { $0.lifetime = .pinned }
    let shelf = store.store(entity: RootShelf(id: 1, root: Root(id: 1, leaf: Leaf(2), items: [Item(id: 5)])))
    _ = store.store(entity: Leaf(3))
    _ = store.store(entity: Item(id: 6))
    let before = shelf.current
    let putting = store.optimistically { $0.store(Root(id: 1, leaf: Leaf(3), items: [Item(id: 6)])) }
    let removal = store.optimistically { $0.remove(Leaf.self, id: 3) }
    store.remove(Item.self, id: 6)
    removal.rollback()
    #expect(shelf.current.root == Root(id: 1, leaf: Leaf(3)))
    putting.rollback()
    #expect(shelf.current == before && store.find(Item.self, id: 6) == nil)
  }

  @Test(arguments: [false, true])
  func `an entity removed from a tentatively stored aggregate does not return with another change`(
    isTentativeFirst: Bool
  ) {
    let item = store.store(entity: Item(id: 4))
    let putting = store.optimistically { $0.store(Root(id: 1, leaf: Leaf(2), items: [Item(id: 4), Item(id: 5)])) }
    if isTentativeFirst {
      store.optimistically { $0.remove(Item.self, id: 4) }.commit()
    } else {
      store.remove(Item.self, id: 4)
    }
    let text = store.optimistically { $0.update(Root.self, id: 1) { $0.text = "draft" } }
    #expect(store.find(Root.self, id: 1)?.value == Root(id: 1, text: "draft", leaf: Leaf(2), items: [Item(id: 5)]))
    text.rollback()
    #expect(store.find(Root.self, id: 1)?.value.items.map(\.id) == [5] && store.find(Item.self, id: 4) == nil)
    let held = store.find(Root.self, id: 1)
    putting.commit()
    #expect(held?.current.items.map(\.id) == [5] && store.find(Item.self, id: 4) == nil)
    withExtendedLifetime(item) {}
  }

  // MARK: Entities stored again

  @Test(arguments: [false, true])
  func `an entity that one change removes and stores again keeps the new value after a commit`(isConfirmed: Bool) {
    let held = store.store(entity: Leaf(1, "old"), named: .chosen)
    let change = store.optimistically { draft in
      draft.remove(Leaf.self, id: 1)
      draft.store(Leaf(1, "new"))
    }
    #expect(held.current.text == "new")
    if isConfirmed { change.commit() } else { change.rollback() }
    let expected = Leaf(1, isConfirmed ? "new" : "old")
    #expect(store.find(Leaf.self, id: 1)?.value == expected && store.find(named: .chosen).value == expected)
  }

  @Test(arguments: [false, true])
  func `an entity that a later change stores again outlasts the commit of its removal`(isConfirmed: Bool) {
    let held = store.store(entity: Leaf(1, "old"), modifiedAt: 5)
    let removal = store.optimistically { $0.remove(Leaf.self, id: 1) }
    let storing = store.optimistically { $0.store(Leaf(1, "new")) }
    removal.commit()
    #expect(held.current == Leaf(1, "new") && store.find(Leaf.self, id: 1) != nil)
    if isConfirmed { storing.commit() } else { storing.rollback() }
    #expect(store.find(Leaf.self, id: 1)?.value == (isConfirmed ? Leaf(1, "new") : nil))
    let newest = store.store(entity: Leaf(1, "newest"), modifiedAt: 4)
    #expect(
      newest.current.text == "newest" && held.current.text == "newest", "The former stamp is that of the removed one.")
  }

  @Test func `an aggregate stored again without a removed entity that it required stays after the commit`() {
    let held = store.store(entity: root)
    let other = Root(id: 1, leaf: Leaf(9))
    let change = store.optimistically { draft in
      draft.remove(Leaf.self, id: 2)
      draft.store(other)
    }
    #expect(held.current == other)
    change.commit()
    #expect(store.find(Root.self, id: 1)?.value == other && store.find(Leaf.self, id: 2) == nil)
    withExtendedLifetime(held) {}
  }

  @Test(arguments: [false, true], [false, true])
  func `an aggregate stored without a tentatively removed entity that it required returns to its containers`(
    isConfirmed: Bool, isStoredWithContainer: Bool
  ) {
    let held = store.store(entity: RootShelf(id: 1, root: Root(id: 1, leaf: Leaf(2))))
    let other = store.store(entity: RootShelf(id: 2, root: Root(id: 1, leaf: Leaf(2))))
    let (received, subscription) = other.changes()
    let removal = store.optimistically { $0.remove(Leaf.self, id: 2) }
    #expect(held.current.root == nil && other.current.root == nil)
    let new = Root(id: 1, text: "new", leaf: Leaf(9))
    if isStoredWithContainer {
      _ = store.store(entity: RootShelf(id: 1, root: new))
    } else {
      _ = store.store(entity: new)
    }
    #expect(held.current.root == new && other.current.root == new && store.find(Root.self, id: 1)?.value == new)
    #expect(received.values.map(\.root) == [nil, new])
    if isConfirmed { removal.commit() } else { removal.rollback() }
    #expect(held.current.root == new && other.current.root == new && store.find(Root.self, id: 1)?.value == new)
    withExtendedLifetime(subscription) {}
  }

  @Test func `the return of an aggregate to its containers is undone with its transaction`() {
    struct Refusal: Error {}
    let root = Root(id: 1, leaf: Leaf(2))
    let held = store.store(entity: RootShelf(id: 1, root: root))
    let removal = store.optimistically { $0.remove(Leaf.self, id: 2) }
    try? store.transaction { store in
      _ = store.store(entity: Root(id: 1, leaf: Leaf(9)))
      #expect(held.current.root?.leaf == Leaf(9))
      throw Refusal()
    }
    #expect(held.current.root == nil && store.find(Root.self, id: 1) == nil)
    removal.rollback()
    #expect(held.current.root == root)
  }

  // MARK: Several

  @Test func `tentative removals of several entities are rolled back one by one`() {
    let held = store.store(entity: root)
    let first = store.optimistically { $0.remove(Item.self, id: 4) }
    let second = store.optimistically { $0.remove(Item.self, id: 5) }
    let third = store.optimistically { $0.update(Root.self, id: 1) { $0.text = "draft" } }
    #expect(held.current.items.isEmpty && held.current.text == "draft")
    first.rollback()
    #expect(held.current.items.map(\.id) == [4] && held.current.wrapper == root.wrapper)
    third.commit()
    second.rollback()
    #expect(held.current.items == root.items && held.current.text == "draft")
  }

  @Test func `a transaction that throws rolls back an optimistic removal`() {
    struct Refusal: Error {}
    let held = store.store(entity: root)
    var change: OptimisticChange?
    try? store.transaction { store in
      change = store.optimistically { $0.remove(Item.self, id: 4) }
      throw Refusal()
    }
    #expect(held.current == root && store.find(Item.self, id: 4)?.value == Item(id: 4))
    change?.rollback()
    #expect(held.current == root)
  }

  @Test func `a finished tentative removal leaves nothing behind`() {
    for ending in 0..<3 {
      var held: EntityObserver<Root>? = store.store(entity: root)
      var change: OptimisticChange? = store.optimistically { $0.remove(Item.self, id: 4) }
      if ending == 0 { change?.commit() } else if ending == 1 { change?.rollback() }
      held = nil
      change = nil
      #expect(held == nil && change == nil && store.inspect().entities.isEmpty)
      #expect(store.count(of: Item.self) == 0)
    }
  }
}

private struct RootShelf: Aggregate, Equatable {
  let id: Int
  var root: Root?
  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.root)] }
}
