import CoherenceIdentityMap
import Testing

/// Optimistic changes, together with everything else that a store does.
@Suite("Confirmed data below optimistic changes")
struct OptimisticMixtureTests {
  private let clock = HandClock()
  private let log = Log()
  private let store: EntityStore

  init() {
    store = EntityStore(delivery: .immediate, logger: log, now: { [clock] in clock.now })
  }

  private func draft(of id: Int) -> OptimisticChange {
    store.optimistically { $0.update(Leaf.self, id: id) { $0.text? += "!" } }
  }

  // MARK: Confirmed updates of tentative values

  @Test func `an update below a tentative change starts from the confirmed value`() {
    let held = store.store(entity: Leaf(1, "a"))
    let change = draft(of: 1)
    store.update(Leaf.self, id: 1) { $0.text? += "b" }
    #expect(held.current.text == "ab!")
    change.rollback()
    #expect(held.current.text == "ab")
  }

  @Test func `an update of a tentative entity is rolled back with it`() {
    let change = store.optimistically { $0.store(Leaf(1, "draft")) }
    #expect(store.update(Leaf.self, id: 1) { $0.text? += "!" })
    #expect(store.find(Leaf.self, id: 1)?.value.text == "draft!")
    change.rollback()
    #expect(store.find(Leaf.self, id: 1) == nil)
  }

  @Test func `an update of an aggregate does not confirm tentative values of entities in it`() {
    let held = store.store(entity: Root(id: 1, leaf: Leaf(2, "a")), named: .main)
    let change = draft(of: 2)
    store.update(Root.self, id: 1) { $0.text = "new" }
    store.update(named: .main) { $0.text += "er" }
    #expect(held.current == Root(id: 1, text: "newer", leaf: Leaf(2, "a!")))
    change.rollback()
    #expect(held.current == Root(id: 1, text: "newer", leaf: Leaf(2, "a")))
  }

  @Test func `an update of an aggregate does not confirm incomparable tentative values`() {
    let held = store.store(entity: OpaqueHolder(id: 1, opaque: Opaque(id: 2, text: "a")))
    _ = store.store(entities: [held.value], named: AliasKey("holders"))
    let change = store.optimistically { $0.update(Opaque.self, id: 2) { $0.text += "!" } }
    store.update(OpaqueHolder.self, id: 1) { $0.text = "new" }
    store.update(named: AliasKey<[OpaqueHolder]>("holders")) { $0[0].text += "er" }
    #expect(held.current.text == "newer" && held.current.opaque.text == "a!")
    change.rollback()
    #expect(held.current.text == "newer" && held.current.opaque.text == "a")
  }

  @Test func `an update of a nested entity through its aggregate starts from the confirmed value`() {
    let held = store.store(entity: Root(id: 1, leaf: Leaf(2, "a")))
    let change = draft(of: 2)
    store.update(Root.self, id: 1) { $0.leaf.text? += "b" }
    #expect(held.current.leaf.text == "ab!")
    change.rollback()
    #expect(held.current.leaf.text == "ab")
  }

  @Test func `storing under an alias does not confirm a tentative change`() {
    let held = store.store(entity: Leaf(1, "a"))
    let change = draft(of: 1)
    _ = store.store(entity: Leaf(1, "b"), named: .chosen)
    #expect(held.current.text == "b!" && store.find(named: .chosen).value?.text == "b!")
    change.rollback()
    #expect(held.current.text == "b" && store.find(named: .chosen).value?.text == "b")
  }

  @Test func `a merge closure receives the confirmed value, not the tentative one`() {
    store.setPolicy(for: Note.self) {
      $0.merge = { Note(id: $0.id, fields: $0.fields.merging($1.fields) { $1 }) }
    }
    let held = store.store(entity: Note(id: 1, fields: ["a": "1"]))
    let change = store.optimistically { $0.update(Note.self, id: 1) { $0.fields["a"] = "draft" } }
    _ = store.store(entity: Note(id: 1, fields: ["b": "2"]))
    #expect(held.current.fields == ["a": "draft", "b": "2"])
    change.rollback()
    #expect(held.current.fields == ["a": "1", "b": "2"])
  }

  @Test func `a merge closure receives a confirmed value whose children are current`() {
    store.setPolicy(for: Person.self) { policy in
      policy.merge = { stored, page in
        page.friends.isEmpty ? page : Person(page.id, page.name, stored.friends + page.friends)
      }
    }
    let held = store.store(entity: Person(1, "p", [Person(2, "a")]))
    let change = store.optimistically { $0.update(Person.self, id: 1) { $0.name = "draft" } }
    store.update(Person.self, id: 2) { $0.name = "current" }
    _ = store.store(entity: Person(1, "p", [Person(3, "b")]))
    #expect(held.current == Person(1, "draft", [Person(2, "current"), Person(3, "b")]))
    change.rollback()
    #expect(held.current == Person(1, "p", [Person(2, "current"), Person(3, "b")]))
  }

  @Test func `storing an aggregate equal to the visible one confirms the entities in it`() {
    let held = store.store(entity: Root(id: 1, leaf: Leaf(2, "a")))
    let change = store.optimistically { $0.update(Leaf.self, id: 2) { $0.text = "b" } }
    _ = store.store(entity: Root(id: 1, leaf: Leaf(2, "b")))
    change.rollback()
    #expect(held.current.leaf.text == "b")
  }

  // MARK: Notifications

  @Test func `observers are notified of confirmed data below a tentative change without effect`() {
    let held = store.store(entity: Root(id: 1, leaf: Leaf(2)))
    let list = store.store(entities: [held.value])
    let change = store.optimistically { $0.update(Root.self, id: 1) { $0.text = "x" } }
    let (received, subscription) = held.changes()
    let newer = Root(id: 1, text: "x", leaf: Leaf(2), items: [Item(id: 3)])
    _ = store.store(entity: newer)
    #expect(received.values == [newer] && list.current == [newer])
    _ = store.store(entity: Root(id: 1, text: "y", leaf: Leaf(2), items: [Item(id: 3)]))
    #expect(received.count == 1, "The visible value has not changed.")
    change.rollback()
    #expect(received.values.last?.text == "y" && received.count == 2)
    withExtendedLifetime(subscription) {}
  }

  @Test func `a confirmed value makes an entity fresh and is logged, and a tentative change does neither`() {
    store.setPolicy(for: Leaf.self) { $0.staleAfter = .seconds(60) }
    let held = store.store(entity: Leaf(1, "a"))
    clock.advance(by: .seconds(30))
    store.invalidate(Leaf.self, id: 1)
    let change = store.optimistically { $0.update(Leaf.self, id: 1) { $0.text = "b" } }
    #expect(store.isStale(Leaf.self, id: 1) && store.age(of: Leaf.self, id: 1) == .seconds(30))
    let before = log.lines.count
    _ = store.store(entity: Leaf(1, "b"))
    #expect(!store.isStale(Leaf.self, id: 1) && log.lines.count == before + 1)
    store.invalidate(Leaf.self, id: 1)
    change.rollback()
    #expect(store.isStale(Leaf.self, id: 1))
    withExtendedLifetime(held) {}
  }

  @Test func `a tentative change does not extend an entity's lifetime`() {
    store.setPolicy(for: Leaf.self) { $0.lifetime = .timeToLive(.seconds(10)) }
    _ = store.store(entity: Leaf(1, "a"))
    clock.advance(by: .seconds(6))
    draft(of: 1).rollback()
    store.optimistically { $0.remove(Leaf.self, id: 1) }.rollback()
    #expect(store.find(Leaf.self, id: 1) != nil)
    clock.advance(by: .seconds(6))
    #expect(store.find(Leaf.self, id: 1) == nil)
  }

  // MARK: Removals

  @Test func `a removed entity does not return when a tentative change of its aggregate is rolled back`() {
    let root = Root(id: 1, leaf: Leaf(2), items: [Item(id: 3), Item(id: 4)])
    let held = store.store(entity: root)
    let item = store.find(Item.self, id: 4)
    let text = store.optimistically { $0.update(Root.self, id: 1) { $0.text = "draft" } }
    store.remove(Item.self, id: 3)
    let items = store.optimistically { $0.update(Root.self, id: 1) { $0.items = [] } }
    store.remove(Item.self, id: 4)
    items.rollback()
    text.rollback()
    #expect(held.current == Root(id: 1, leaf: Leaf(2)) && store.count(of: Item.self) == 0)
    withExtendedLifetime(item) {}
  }

  @Test func `an entity tentatively removed from an aggregate keeps its stamp`() {
    let held = store.store(entity: Root(id: 1, leaf: Leaf(2), items: [Item(id: 3, key: "new")]), modifiedAt: 10)
    let change = store.optimistically { $0.update(Root.self, id: 1) { $0.items = [] } }
    _ = store.store(entity: Item(id: 3, key: "old"), modifiedAt: 5)
    change.rollback()
    _ = store.store(entity: Item(id: 3, key: "old"), modifiedAt: 5)
    #expect(held.current.items == [Item(id: 3, key: "new")])
  }

  @Test func `an aggregate with a tentative change is removed with an entity that it requires`() {
    let held = store.store(entity: Root(id: 1, leaf: Leaf(2)))
    let change = store.optimistically { $0.update(Root.self, id: 1) { $0.leaf = Leaf(9) } }
    store.remove(Leaf.self, id: 2)
    change.rollback()
    #expect(store.find(Root.self, id: 1) == nil && store.find(Leaf.self, id: 2) == nil)
    withExtendedLifetime(held) {}
  }

  @Test func `an aggregate stays when an entity that only a tentative change put into it is removed`() {
    let (held, leaf) = (store.store(entity: Root(id: 1, leaf: Leaf(2))), store.store(entity: Leaf(9)))
    let change = store.optimistically { $0.update(Root.self, id: 1) { $0.leaf = Leaf(9) } }
    store.remove(Leaf.self, id: 9)
    #expect(held.current == Root(id: 1, leaf: Leaf(2)))
    change.rollback()
    #expect(store.find(Root.self, id: 1)?.value == Root(id: 1, leaf: Leaf(2)))
    withExtendedLifetime(leaf) {}
  }

  @Test
  func `a tentatively removed aggregate stays when an entity that only a tentative change put into it is removed`() {
    let held = store.store(entities: [Root(id: 1, leaf: Leaf(2))])
    let leaf = store.store(entity: Leaf(9))
    let change = store.optimistically { $0.update(Root.self, id: 1) { $0.leaf = Leaf(9) } }
    let removal = store.optimistically { $0.remove(Root.self, id: 1) }
    store.remove(Leaf.self, id: 9)
    #expect(held.current.isEmpty && store.find(Root.self, id: 1) == nil)
    removal.rollback()
    #expect(held.current == [Root(id: 1, leaf: Leaf(2))])
    change.rollback()
    #expect(held.current == [Root(id: 1, leaf: Leaf(2))])
    withExtendedLifetime(leaf) {}
  }

  @Test
  func `an aggregate that gets a tentatively removed entity disappears until the rollback`() {
    struct Lid: Aggregate, Equatable {
      let id: Int
      var leaf: Leaf
      var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.leaf)] }
    }
    struct Pile: Aggregate, Equatable {
      let id: Int
      var lids: [Lid]
      var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.lids)] }
    }
    let held = store.store(entity: Pile(id: 1, lids: [Lid(id: 2, leaf: Leaf(3))]))
    let (leaf, awaited) = (store.store(entity: Leaf(4)), store.await(Lid.self, id: 5))
    let removal = store.optimistically { $0.remove(Leaf.self, id: 4) }
    let text = store.optimistically { $0.update(Lid.self, id: 2) { $0.leaf = Leaf(3) } }
    _ = store.store(entity: Lid(id: 2, leaf: Leaf(4)))
    _ = store.store(entity: Lid(id: 5, leaf: Leaf(4)))
    text.rollback()
    #expect(held.current.lids.isEmpty && store.find(Lid.self, id: 2) == nil && awaited.current == nil)
    removal.rollback()
    #expect(held.current.lids == [Lid(id: 2, leaf: Leaf(4))])
    withExtendedLifetime(leaf) {}
  }

  @Test func `a rollback after removing everything restores nothing`() {
    let held = store.store(entities: [Leaf(1), Leaf(2)])
    let change = store.optimistically { draft in
      draft.remove(Leaf.self, id: 1)
      draft.update(Leaf.self, id: 2) { $0.text = "draft" }
    }
    store.removeAll()
    change.rollback()
    #expect(store.count(of: Leaf.self) == 0 && held.current.isEmpty)
  }

  @Test func `aliases drop an entity when its tentative removal is confirmed`() {
    _ = store.store(entity: Leaf(1), named: .chosen)
    _ = store.store(entities: [Leaf(1), Leaf(2)], named: .all)
    store.optimistically { $0.remove(Leaf.self, id: 1) }.commit()
    let again = store.store(entity: Leaf(1, "again"))
    #expect(store.find(named: .chosen).value == nil && store.find(named: .all).value == [Leaf(2)])
    #expect(store.inspect().aliases == ["alias all of Array<Leaf>"])
    withExtendedLifetime(again) {}
  }

  @Test func `an aggregate with a tentative change does not show a tentatively removed entity`() {
    let held = store.store(entity: Root(id: 1, leaf: Leaf(2)))
    let item = store.store(entity: Item(id: 3))
    let text = store.optimistically { $0.update(Root.self, id: 1) { $0.text = "draft" } }
    let removal = store.optimistically { $0.remove(Item.self, id: 3) }
    _ = store.store(entity: Root(id: 1, leaf: Leaf(2), items: [Item(id: 3), Item(id: 4)]))
    _ = store.store(entity: Root(id: 1, text: "a", leaf: Leaf(2), items: [Item(id: 3), Item(id: 4)]))
    #expect(held.current == Root(id: 1, text: "draft", leaf: Leaf(2), items: [Item(id: 4)]))
    text.rollback()
    #expect(held.current.items.map(\.id) == [4])
    removal.rollback()
    #expect(held.current == Root(id: 1, text: "a", leaf: Leaf(2), items: [Item(id: 3), Item(id: 4)]))
    withExtendedLifetime(item) {}
  }

  @Test func `storing an aggregate tentatively does not change the entities in it`() {
    let leaf = store.store(entity: Leaf(2, "sure"))
    let change = store.optimistically { $0.store(Root(id: 1, leaf: Leaf(2, "guess"), items: [Item(id: 3)])) }
    #expect(store.find(Root.self, id: 1)?.value == Root(id: 1, leaf: Leaf(2, "sure"), items: [Item(id: 3)]))
    change.rollback()
    #expect(leaf.current.text == "sure" && store.find(Root.self, id: 1) == nil && store.count(of: Item.self) == 0)
  }

  @Test(arguments: [false, true])
  func `entities that a tentative aggregate inserts are removed when it is rolled back`(isConfirmed: Bool) {
    store.setPolicy(for: Leaf.self) { $0.lifetime = .pinned }
    store.setPolicy(for: Item.self) { $0.lifetime = .pinned }
    let held = store.store(entity: Root(id: 2, leaf: Leaf(3)))
    let awaited = store.await(Root.self, id: 1)
    let change = store.optimistically { draft in
      draft.store(Root(id: 1, leaf: Leaf(2), items: [Item(id: 3), Item(id: 4)]))
      draft.update(Root.self, id: 2) { $0.items = [Item(id: 5)] }
    }
    #expect(store.count(of: Leaf.self) == 2 && store.count(of: Item.self) == 3)
    _ = store.store(entity: Item(id: 4, key: "sure"))
    if isConfirmed { change.commit() } else { change.rollback() }
    #expect((awaited.current != nil) == isConfirmed)
    #expect(store.find(Item.self, id: 4)?.value.key == "sure" && held.current.items.isEmpty != isConfirmed)
    #expect(store.count(of: Leaf.self) == (isConfirmed ? 2 : 1) && store.count(of: Item.self) == (isConfirmed ? 3 : 1))
  }

  @Test func `an entity that two tentative aggregates insert stays until both are rolled back`() {
    let first = store.optimistically { $0.store(Root(id: 1, leaf: Leaf(3))) }
    let second = store.optimistically { $0.store(Root(id: 2, leaf: Leaf(3, "other"))) }
    first.rollback()
    #expect(store.find(Root.self, id: 2)?.value.leaf == Leaf(3))
    second.rollback()
    #expect(store.find(Root.self, id: 2) == nil && store.count(of: Leaf.self) == 0)
  }

  @Test func `entities that a tentative aggregate inserts are confirmed once a confirmed aggregate contains them`() {
    let held = store.store(entity: Root(id: 1, leaf: Leaf(2)))
    let change = store.optimistically { $0.store(Root(id: 2, leaf: Leaf(3, "draft"), items: [Item(id: 4)])) }
    _ = store.store(entity: Root(id: 1, leaf: Leaf(3, "draft")))
    store.update(Root.self, id: 1) { $0.items = [Item(id: 4)] }
    change.rollback()
    #expect(held.current == Root(id: 1, leaf: Leaf(3, "draft"), items: [Item(id: 4)]))
    #expect(store.find(Root.self, id: 1) != nil && store.find(Root.self, id: 2) == nil)
  }

  @Test func `a tentative entity that contains itself is removed when its change is rolled back`() {
    let change = store.optimistically { $0.store(Person(1, "a", [Person(2, "b", [Person(1, "a")])])) }
    #expect(store.find(Person.self, id: 1)?.value.friends.map(\.id) == [2] && store.count(of: Person.self) == 2)
    change.rollback()
    #expect(store.count(of: Person.self) == 0)
  }

  // MARK: Archives

  @Test func `an archive contains the confirmed values`() throws {
    let held = store.store(entities: [Leaf(1, "a"), Leaf(2, "b")], named: .all)
    let change = store.optimistically { draft in
      draft.update(Leaf.self, id: 1) { $0.text = "draft" }
      draft.remove(Leaf.self, id: 2)
      draft.store(Leaf(3, "draft"))
    }
    var archive = EntityArchive()
    try archive.add(Leaf.self, as: "leaf", from: store)
    try archive.add(alias: .all, from: store)
    #expect(held.current == [Leaf(1, "draft")] && store.find(Leaf.self, id: 3) != nil)
    let next = makeStore()
    let kept = try archive.restore(Leaf.self, as: "leaf", to: next)
    try archive.restore(alias: .all, to: next)
    #expect(kept.value.sorted { $0.id < $1.id } == [Leaf(1, "a"), Leaf(2, "b")])
    #expect(next.find(named: .all).value == [Leaf(1, "a"), Leaf(2, "b")])
    change.rollback()
    #expect(held.current == [Leaf(1, "a"), Leaf(2, "b")] && store.find(Leaf.self, id: 3) == nil)
  }
}

/// An aggregate without an equality, of an entity without an equality.
private struct OpaqueHolder: Aggregate {
  let id: Int
  var text = ""
  var opaque: Opaque
  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.opaque)] }
}
