import CoherenceIdentityMap
import Testing

@Suite("Pinned: aggregates")
struct AggregateBehaviourTests {
  private let store = makeStore()

  @Test func `storing an aggregate makes its entities findable while the aggregate is held`() {
    let root = Root(
      id: 1, leaf: Leaf(2), note: Note(id: 3), items: [Item(id: 4), Item(id: 5)], wrapper: .leaf(Leaf(6)))
    let held = store.store(entity: root)
    #expect(held.value == root)
    #expect(store.find(Leaf.self, id: 2)?.value == Leaf(2))
    #expect(store.find(Note.self, id: 3) != nil)
    #expect(store.find(Item.self, id: 4) != nil && store.find(Item.self, id: 5) != nil)
    #expect(store.find(Leaf.self, id: 6) != nil)
  }

  @Test func `an optional property set to nil stays nil when its former entity is stored`() {
    var root = Root(id: 1, leaf: Leaf(2), note: Note(id: 3))
    let first = store.store(entity: root)
    root.note = nil
    let held = store.store(entity: root)
    let note = store.store(entity: Note(id: 3, fields: ["a": "b"]))
    #expect(held.current.note == nil && first.current.note == nil && note.value.id == 3)
  }

  @Test func `an element removed from a list does not return when it changes`() {
    var root = Root(id: 1, leaf: Leaf(2), items: [Item(id: 4), Item(id: 5)])
    _ = store.store(entity: root)
    let held = store.store(entity: root)
    root.items = [Item(id: 5)]
    _ = store.store(entity: root)
    let item = store.store(entity: Item(id: 4, key: "new"))
    #expect(held.current.items == [Item(id: 5)] && item.value.key == "new")
  }

  @Test func `a changed entity in an enum case shows in the aggregate`() {
    let held = store.store(entity: Root(id: 1, leaf: Leaf(2), wrapper: .leaf(Leaf(3, "old"))))
    _ = store.store(entity: Leaf(3, "new"))
    #expect(held.current.wrapper == .leaf(Leaf(3, "new")))
  }

  @Test func `a wrapper set to nil stays nil when its former entity is stored`() {
    var root = Root(id: 1, leaf: Leaf(2), wrapper: .leaf(Leaf(3)))
    let held = store.store(entity: root)
    root.wrapper = nil
    _ = store.store(entity: root)
    _ = store.store(entity: Leaf(3, "new"))
    #expect(held.current.wrapper == nil)
  }

  @Test func `one store of an aggregate notifies the observers of every entity that changed in it`() {
    let root = Root(id: 1, leaf: Leaf(2), note: Note(id: 3), wrapper: .leaf(Leaf(4)))
    let held = store.store(entity: root)
    let (roots, s1) = held.changes()
    let (leaves, s2) = store.find(Leaf.self, id: 2)!.changes()
    let (notes, s3) = store.find(Note.self, id: 3)!.changes()
    let (wrapped, s4) = store.find(Leaf.self, id: 4)!.changes()
    let next = Root(
      id: 1, text: "new", leaf: Leaf(2, "new"), note: Note(id: 3, fields: ["a": "b"]), wrapper: .leaf(Leaf(4, "new")))
    _ = store.store(entity: next)
    #expect(roots.values == [next] && leaves.values == [Leaf(2, "new")])
    #expect(notes.count == 1 && wrapped.values == [Leaf(4, "new")])
    withExtendedLifetime((s1, s2, s3, s4)) {}
  }

  @Test func `an entity that several aggregates of one store contain notifies its observers once`() {
    let held = store.store(entities: [Root(id: 1, leaf: Leaf(2)), Root(id: 1, leaf: Leaf(2))])
    let (received, subscription) = store.find(Leaf.self, id: 2)!.changes()
    _ = store.store(entities: [
      Root(id: 1, text: "a", leaf: Leaf(2, "new")), Root(id: 1, text: "b", leaf: Leaf(2, "new")),
    ])
    #expect(received.values == [Leaf(2, "new")])
    #expect(held.current.map(\.text) == ["b", "b"])
    withExtendedLifetime(subscription) {}
  }

  @Test func `a nested change reaches all ancestors`() {
    let held = store.store(entity: Outer(inner: Inner(leaf: Leaf(1))))
    let (outers, s1) = held.changes()
    let (inners, s2) = store.find(Inner.self, id: 1)!.changes()
    _ = store.store(entity: Leaf(1, "new"))
    #expect(inners.values == [Inner(leaf: Leaf(1, "new"))])
    #expect(outers.values == [Outer(inner: Inner(leaf: Leaf(1, "new")))])
    withExtendedLifetime((s1, s2)) {}
  }

  @Test func `a key path to an aggregate stores it as an aggregate`() {
    let held = store.store(entity: Outer(inner: Inner(leaf: Leaf(1))))
    #expect(store.find(Inner.self, id: 1)?.value == held.value.inner)
    #expect(store.find(Leaf.self, id: 1) != nil)
  }

  @Test func `the value of an aggregate contains the current values of its children`() {
    let held = store.store(entity: Root(id: 1, leaf: Leaf(2), items: [Item(id: 3), Item(id: 4)]))
    store.update(Item.self, id: 4) { $0.key = "b" }
    store.update(Item.self, id: 3) { $0.key = "a" }
    store.update(Leaf.self, id: 2) { $0.text = "c" }
    #expect(held.current.items == [Item(id: 3, key: "a"), Item(id: 4, key: "b")])
    #expect(held.current.leaf == Leaf(2, "c"))
  }

  @Test func `an aggregate that contains a newer version of an entity updates it`() {
    let leaf = store.store(entity: Leaf(2, "old"))
    let (received, subscription) = leaf.changes()
    _ = store.store(entity: Root(id: 1, leaf: Leaf(2, "new")))
    #expect(store.find(Leaf.self, id: 2)?.value == Leaf(2, "new"))
    #expect(received.values == [Leaf(2, "new")])
    withExtendedLifetime(subscription) {}
  }

  @Test func `key paths may lead through plain structures`() {
    let held = store.store(entity: Letter(id: 1, header: Letter.Header(author: Leaf(2), topics: [Item(id: 3)])))
    store.update(Leaf.self, id: 2) { $0.text = "new" }
    store.update(Item.self, id: 3) { $0.key = "new" }
    #expect(held.current.header.author.text == "new" && held.current.header.topics[0].key == "new")
  }

  @Test func `entities in collections of wrappers, in collections of optionals and in sets are found too`() {
    let shelf = Shelf(
      id: 1, wrappers: [.leaf(Leaf(1)), .nothing, .item(Item(id: 2))], holes: [Leaf(3), nil], set: [Item(id: 4)])
    let held = store.store(entity: shelf)
    store.update(Leaf.self, id: 1) { $0.text = "a" }
    store.update(Item.self, id: 2) { $0.key = "b" }
    store.update(Leaf.self, id: 3) { $0.text = "c" }
    store.update(Item.self, id: 4) { $0.key = "d" }
    #expect(held.current.wrappers == [.leaf(Leaf(1, "a")), .nothing, .item(Item(id: 2, key: "b"))])
    #expect(held.current.holes == [Leaf(3, "c"), nil] && held.current.set == [Item(id: 4, key: "d")])
  }
}

private struct Letter: Aggregate {
  struct Header: Sendable {
    var author: Leaf
    var topics: [Item]
  }

  let id: Int
  var header: Header
  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] {
    [.init(\.header.author), .init(\.header.topics)]
  }
}

private struct Shelf: Aggregate {
  let id: Int
  var wrappers: [Wrapper]
  var holes: [Leaf?]
  var set: Set<Item>
  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] {
    [.init(wrappers: \.wrappers), .init(optionals: \.holes), .init(\.set)]
  }
}
