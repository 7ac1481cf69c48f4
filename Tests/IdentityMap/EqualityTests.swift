import CoherenceIdentityMap
import Testing

/// Equality decides whether observers are notified. It does not decide whether a value is stored.
@Suite("Values with a partial equality")
struct EqualityTests {
  private struct Refusal: Error {}
  private let store = makeStore()

  /// The first store takes the fast paths. The second has a logger and takes the slow ones.
  private static let stores: [@Sendable () -> EntityStore] = [{ makeStore() }, { makeStore(logger: Log()) }]

  @Test(arguments: [0, 1])
  func `an update that makes an equal value is stored`(kind: Int) {
    let store = Self.stores[kind]()
    let held = store.store(entity: Tag(1, "old"))
    #expect(store.update(Tag.self, id: 1) { $0.text = "new" })
    #expect(held.current.text == "new" && store.find(Tag.self, id: 1)?.value.text == "new")
  }

  @Test(arguments: [0, 1])
  func `an equal value is stored`(kind: Int) {
    let store = Self.stores[kind]()
    let held = store.store(entity: Tag(1, "old"))
    #expect(store.store(entity: Tag(1, "new")).value.text == "new")
    #expect(held.current.text == "new")
  }

  @Test(arguments: [0, 1])
  func `aggregates and aliases of an entity show its equal value`(kind: Int) {
    let store = Self.stores[kind]()
    let shelf = store.store(entity: Shelf(1, tag: Tag(2, "old"), tags: [Tag(2, "old"), Tag(3, "old")]))
    let outer = store.store(entity: Room(id: 1, shelf: shelf.value))
    _ = store.store(entity: Tag(2, "old"), named: .tag)
    let (list, awaited) = (store.store(entities: [Tag(2, "old")]), store.await(Tag.self, id: 2))
    store.update(Tag.self, id: 2) { $0.text = "new" }
    #expect(shelf.current.texts == ["new", "new", "old"] && outer.current.shelf.texts == ["new", "new", "old"])
    #expect(store.find(named: .tag).value?.text == "new")
    #expect(list.current.map(\.text) == ["new"] && awaited.current?.text == "new")
    _ = store.store(entity: Tag(2, "newer"))
    #expect(shelf.current.texts == ["newer", "newer", "old"] && outer.current.shelf.texts == shelf.current.texts)
  }

  @Test(arguments: [0, 1])
  func `an equal aggregate is stored with the entities in it`(kind: Int) {
    let store = Self.stores[kind]()
    let held = store.store(entity: Room(id: 1, shelf: Shelf(2, tag: Tag(3, "old"), tags: [Tag(4, "old")])))
    _ = store.store(entity: Room(id: 1, shelf: Shelf(2, name: "new", tag: Tag(3, "new"), tags: [Tag(4), Tag(5)])))
    #expect(held.current.shelf.name == "new" && held.current.shelf.texts == ["new", "", ""])
    #expect(store.find(Tag.self, id: 3)?.value.text == "new" && store.find(Tag.self, id: 5) != nil)
    store.update(Room.self, id: 1) { $0.shelf.tags[0].text = "newer" }
    store.update(Room.self, id: 1) { $0.shelf.name = "newer" }
    #expect(held.current.shelf.name == "newer" && held.current.shelf.texts == ["new", "newer", ""])
  }

  @Test(arguments: [0, 1])
  func `of two equal values of one entity in an aggregate the last counts at both places`(kind: Int) {
    let store = Self.stores[kind]()
    let held = store.store(entity: Shelf(1, tag: Tag(2, "first"), tags: [Tag(2, "second")]))
    #expect(held.current.texts == ["second", "second"])
    _ = store.store(entity: Shelf(1, tag: Tag(2, "third"), tags: [Tag(2, "fourth")]))
    #expect(held.current.texts == ["fourth", "fourth"])
  }

  @Test func `an equal value by the equality of a policy is stored`() {
    store.setPolicy(for: Leaf.self) { $0.areEqual = { $0.id == $1.id } }
    let held = store.store(entity: Root(id: 1, leaf: Leaf(2, "old")))
    let (received, subscription) = store.store(entity: Leaf(2, "new")).changes()
    store.update(Leaf.self, id: 2) { $0.text = "newer" }
    #expect(held.current.leaf.text == "newer" && received.count == 0)
    withExtendedLifetime(subscription) {}
  }

  // MARK: Edits in an aggregate

  @Test func `an edit of fields outside of the equality counts at every place`() {
    let state = Marker(id: 2, state: .on(Tag(9, "old")), named: ["a": Tag(9, "old")], all: [Tag(9, "old")])
    let held = store.store(entity: Wall(id: 1, markers: [state, state]))
    store.update(Wall.self, id: 1) { $0.markers[0].state = .on(Tag(9, "new")) }
    #expect(held.current.markers.allSatisfy { $0.state.text == "new" })
    store.update(Wall.self, id: 1) { $0.markers[0].named["a"]?.text = "new" }
    #expect(held.current.markers.allSatisfy { $0.named["a"]?.text == "new" })
    store.update(Wall.self, id: 1) { $0.markers[0].all = [Tag(9, "new")] }
    #expect(held.current.markers.allSatisfy { $0.all.first?.text == "new" })
    store.update(Wall.self, id: 1) { $0.markers[1].state = .off }
    #expect(held.current.markers.allSatisfy { $0.state.text == nil })
  }

  // MARK: Observers

  @Test func `observers are not notified of an equal value and are notified of the next different one`() {
    let held = store.store(entity: Box(id: 1, tag: Tag(2, "old"), leaf: Leaf(3)))
    let outer = store.store(entity: Chest(id: 1, box: held.value))
    let (boxes, first) = held.changes()
    let (chests, second) = outer.changes()
    let (tags, third) = store.find(Tag.self, id: 2)!.changes()
    store.update(Tag.self, id: 2) { $0.text = "new" }
    #expect(boxes.count == 0 && chests.count == 0 && tags.count == 0)
    store.update(Leaf.self, id: 3) { $0.text = "new" }
    #expect(boxes.values.map(\.tag.text) == ["new"] && chests.values.map(\.box.leaf.text) == ["new"])
    #expect(tags.count == 0)
    withExtendedLifetime((first, second, third)) {}
  }

  @Test func `an equal value and a different one in one transaction notify observers once`() {
    let held = store.store(entity: Box(id: 1, tag: Tag(2, "old"), leaf: Leaf(3)))
    let (received, subscription) = held.changes()
    store.transaction { store in
      store.update(Tag.self, id: 2) { $0.text = "new" }
      store.update(Leaf.self, id: 3) { $0.text = "new" }
      store.update(Tag.self, id: 2) { $0.text = "newer" }
    }
    #expect(received.values.map(\.tag.text) == ["newer"] && received.values.map(\.leaf.text) == ["new"])
    withExtendedLifetime(subscription) {}
  }

  @Test func `a paused observer receives nothing after an equal value`() {
    let (received, subscription) = store.store(entity: Tag(1, "old")).changes()
    subscription.pause()
    store.update(Tag.self, id: 1) { $0.text = "new" }
    subscription.resume()
    #expect(received.count == 0)
  }

  @Test func `a transaction that throws restores equal values and notifies no observer`() {
    let held = store.store(entity: Box(id: 1, tag: Tag(2, "old"), leaf: Leaf(3)))
    let (received, subscription) = held.changes()
    try? store.transaction { store throws in
      store.update(Tag.self, id: 2) { $0.text = "undone" }
      #expect(held.current.tag.text == "undone")
      throw Refusal()
    }
    #expect(held.current.tag.text == "old" && store.find(Tag.self, id: 2)?.value.text == "old")
    subscription.pause()
    subscription.resume()
    #expect(received.count == 0)
    store.update(Leaf.self, id: 3) { $0.text = "new" }
    #expect(received.values.map(\.leaf.text) == ["new"])
  }

  @Test func `a query notifies of equal values only when its members or their order change`() {
    let held = store.store(entities: [Tag(1, "a"), Tag(2, "c")])
    let sorted = store.query(Tag.self, sortedBy: \.text)
    let (received, subscription) = sorted.changes()
    store.update(Tag.self, id: 1) { $0.text = "b" }
    #expect(received.count == 0 && sorted.current.map(\.text) == ["b", "c"])
    store.update(Tag.self, id: 1) { $0.text = "d" }
    #expect(received.values.map { $0.map(\.text) } == [["c", "d"]])
    let (few, other) = store.query(Tag.self, where: { $0.text == "x" }).changes()
    store.update(Tag.self, id: 2) { $0.text = "x" }
    #expect(few.values.map { $0.map(\.id) } == [[2]])
    withExtendedLifetime((held, subscription, other)) {}
  }

  @Test func `observers of a query are not notified of an equal value beside a rolled-back removal`() {
    _ = store.store(entity: Tag(1, "old"), named: .tag)
    let (received, subscription) = store.query(Tag.self).changes()
    store.transaction { store in
      store.update(Tag.self, id: 1) { $0.text = "new" }
      try? store.transaction { store in
        store.remove(Tag.self, id: 1)
        throw Refusal()
      }
    }
    #expect(store.find(Tag.self, id: 1)?.value.text == "new" && received.count == 0)
    withExtendedLifetime(subscription) {}
  }

  @Test func `a query over aggregates evaluates equal values in them`() {
    let held = store.store(entity: Room(id: 1, shelf: Shelf(2, tag: Tag(3, "old"))))
    let rooms = store.query(Room.self, where: { $0.shelf.tag.text == "new" })
    store.update(Tag.self, id: 3) { $0.text = "new" }
    #expect(rooms.current.map(\.id) == [1])
    withExtendedLifetime(held) {}
  }

  @Test func `an optimistic change to an equal value is visible until its rollback`() {
    let shelf = store.store(entity: Shelf(1, tag: Tag(2, "sure")))
    let change = store.optimistically { draft in
      draft.update(Tag.self, id: 2) { $0.text += "!" }
      draft.update(Shelf.self, id: 1) { $0.name = "draft" }
    }
    #expect(shelf.current.texts == ["sure!"] && shelf.current.name == "draft")
    _ = store.store(entity: Tag(2, "surer"))
    #expect(shelf.current.texts == ["surer!"])
    change.rollback()
    #expect(shelf.current.texts == ["surer"] && shelf.current.name == "")
    store.optimistically { $0.update(Tag.self, id: 2) { $0.text = "confirmed" } }.commit()
    #expect(shelf.current.texts == ["confirmed"])
  }

  // MARK: Ordinary values

  @Test(arguments: [1, 100])
  func `a text at another address with equal characters notifies no observer, however many aggregates contain it`(
    count: Int
  ) {
    func text() -> String { String(repeating: "long ", count: 10) }
    func roots() -> [Root] { (0..<count).map { Root(id: $0, text: text(), leaf: Leaf(1, text())) } }
    let held = store.store(entities: roots())
    let (received, subscription) = held.changes()
    let (leaves, other) = store.find(Leaf.self, id: 1)!.changes()
    _ = store.store(entities: roots())
    #expect(received.count == 0 && leaves.count == 0 && held.current == roots())
    store.update(Leaf.self, id: 1) { $0.text = "new" }
    #expect(received.count == 1 && leaves.count == 1 && held.current.allSatisfy { $0.leaf.text == "new" })
    withExtendedLifetime((subscription, other)) {}
  }

  @Test func `an alias stored again with equal entities notifies of the next change`() {
    _ = store.store(entities: [Leaf(1)], named: .all)
    let (received, subscription) = store.find(named: .all).changes()
    _ = store.store(entities: [Leaf(1)], named: .all)
    store.update(Leaf.self, id: 1) { $0.text = "new" }
    #expect(received.values == [[Leaf(1, "new")]])
    withExtendedLifetime(subscription) {}
  }
}

/// Compared by its identifier alone.
private struct Tag: Identifiable, Hashable, Sendable {
  let id: Int
  var text: String

  init(_ id: Int, _ text: String = "") {
    (self.id, self.text) = (id, text)
  }

  static func == (first: Tag, second: Tag) -> Bool { first.id == second.id }

  func hash(into hasher: inout Hasher) { hasher.combine(id) }
}

extension AliasKey where T == Tag {
  fileprivate static var tag: Self { AliasKey(named: "tag") }
}

/// Compared by its identifier alone too.
private struct Shelf: Aggregate, Equatable {
  let id: Int
  var name: String
  var tag: Tag
  var tags: [Tag]

  init(_ id: Int, name: String = "", tag: Tag, tags: [Tag] = []) {
    (self.id, self.name, self.tag, self.tags) = (id, name, tag, tags)
  }

  var texts: [String] { ([tag] + tags).map(\.text) }

  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.tag), .init(\.tags)] }

  static func == (first: Shelf, second: Shelf) -> Bool { first.id == second.id }
}

private struct Room: Aggregate, Equatable {
  let id: Int
  var shelf: Shelf
  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.shelf)] }
}

private struct Box: Aggregate, Equatable {
  let id: Int
  var tag: Tag
  var leaf: Leaf
  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.tag), .init(\.leaf)] }
}

private struct Chest: Aggregate, Equatable {
  let id: Int
  var box: Box
  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.box)] }
}

/// A type whose identifiers are compared but are not visible as fields in a mirror.
private struct Marker: Identifiable, Sendable {
  enum State: Equatable, Sendable {
    case on(Tag)
    case off

    var text: String? { if case .on(let tag) = self { tag.text } else { nil } }
  }

  let id: Int
  var state: State
  var named: [String: Tag]
  var all: Set<Tag>
}

private struct Wall: Aggregate {
  let id: Int
  var markers: [Marker]
  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.markers)] }
}
