import CoherenceIdentityMap
import Testing

@Suite("Optional collections and collections by key in aggregates")
struct NestedPlaceTests {
  private let store = makeStore()

  @Test func `entities in optional collections, in optional sets and in collections by key follow their changes`() {
    let held = store.store(entity: Cabinet(id: 1, key: "old"))
    for id in 1...4 { store.update(Item.self, id: id) { $0.key = "new" } }
    #expect(held.current == Cabinet(id: 1, key: "new"))
  }

  @Test func `removed entities leave optional collections, optional sets and collections by key`() {
    let held = store.store(entity: Cabinet(id: 1, key: "old"))
    for id in 1...3 { #expect(store.remove(Item.self, id: id)) }
    var expected = Cabinet(id: 1, key: "old")
    expected.list = []
    expected.set = []
    expected.byKey = ["a": []]
    #expect(held.current == expected)
  }

  @Test func `missing collections of an aggregate stay missing when the entities of another one change`() {
    let empty = store.store(entity: Cabinet(id: 2))
    let full = store.store(entity: Cabinet(id: 1, key: "old"))
    for id in 1...4 { store.update(Item.self, id: id) { $0.key = "new" } }
    #expect(empty.current == Cabinet(id: 2) && full.current == Cabinet(id: 1, key: "new"))
  }

  @Test func `members of a set that become equal for a while stay, and entities after the set keep their places`() {
    let labels: Set<Label> = [Label(id: 1, name: "a"), Label(id: 2, name: "b")]
    let held = store.store(entity: Shelf(id: 1, labels: labels, owner: Leaf(3)))
    store.update(Label.self, id: 1) { $0.name = "b" }
    #expect(held.current.labels.count == 2)
    store.update(Leaf.self, id: 3) { $0.text = "new" }
    #expect(held.current.owner.text == "new")
    store.update(Label.self, id: 2) { $0.name = "c" }
    #expect(Set(held.current.labels.map(\.name)) == ["b", "c"])
    #expect(held.current.owner.text == "new")
  }

  @Test func `an update of an aggregate leaves the new value of a member whose former value its set shows`() {
    let labels: Set<Label> = [Label(id: 1, name: "a"), Label(id: 2, name: "b")]
    let held = store.store(entity: Shelf(id: 1, labels: labels, owner: Leaf(3)))
    store.update(Label.self, id: 1) { $0.name = "b" }
    store.update(Shelf.self, id: 1) { $0.owner.text = "new" }
    #expect(store.find(Label.self, id: 1)?.value.name == "b" && held.current.owner.text == "new")
  }

  @Test func `an aggregate stored with a tentatively removed entity that it has kept has every entity at its place`() {
    let held = store.store(entity: Roster(id: 1, kept: Leaf(6)))
    let removal = store.optimistically { $0.remove(Leaf.self, id: 6) }
    store.store(Roster(id: 1, list: [Leaf(1), Leaf(6, "new")], item: Item(id: 3), last: Leaf(2)))
    for id in 1...2 { store.update(Leaf.self, id: id) { $0.text = "\(id)" } }
    #expect(held.current == Roster(id: 1, list: [Leaf(1, "1")], item: Item(id: 3), last: Leaf(2, "2")))
    removal.rollback()
    let restored = Roster(id: 1, list: [Leaf(1, "1"), Leaf(6, "new")], item: Item(id: 3), last: Leaf(2, "2"))
    #expect(held.current == restored)
  }

  @Test func `a set shows the new value of a member after the removal of the equal member`() {
    let labels: Set<Label> = [Label(id: 1, name: "a"), Label(id: 2, name: "b")]
    let held = store.store(entity: Shelf(id: 1, labels: labels, owner: Leaf(3)))
    store.update(Label.self, id: 1) { $0.name = "b" }
    #expect(held.current.labels.count == 2)
    store.remove(Label.self, id: 2)
    #expect(held.current.labels.map(\.name) == ["b"])
  }

  @Test func `a wrapper that requires a removed entity twice leaves the entities after it in the aggregate`() {
    let value = Book(id: 1, credit: Credit(author: Leaf(1), editor: Leaf(1)), owner: Leaf(2))
    let held = store.store(entity: value)
    store.remove(Leaf.self, id: 1)
    #expect(store.find(Book.self, id: 1)?.value == Book(id: 1, owner: Leaf(2)) && held.current.credit == nil)
  }

  @Test func `all wrappers of a list that require a removed entity are removed`() {
    let (first, second) = (Credit(author: Leaf(1), editor: Leaf(2)), Credit(author: Leaf(3), editor: Leaf(1)))
    let third = Credit(author: Leaf(3), editor: Leaf(2))
    let held = store.store(entity: Book(id: 1, credits: [first, second, third], owner: Leaf(2)))
    store.remove(Leaf.self, id: 1)
    #expect(held.current == Book(id: 1, credits: [third], owner: Leaf(2)))
    store.update(Leaf.self, id: 2) { $0.text = "new" }
    #expect(held.current.credits.map(\.editor.text) == ["new"] && held.current.owner.text == "new")
  }
}

/// A wrapper that requires two entities.
private struct Credit: EntityWrapper, Equatable, Sendable {
  var author: Leaf
  var editor: Leaf

  func wrappedEntitiesKeyPaths<Root>(
    relativeTo parent: WritableKeyPath<Root, Self>
  ) -> [PartialIdentifiableKeyPath<Root>] {
    [.init(parent.appending(\.author)), .init(parent.appending(\.editor))]
  }
}

/// An entity that equals every entity with its name.
private struct Label: Identifiable, Hashable, Sendable {
  let id: Int
  var name: String

  static func == (left: Label, right: Label) -> Bool { left.name == right.name }
  func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

/// An aggregate with an entity after a set.
private struct Shelf: Aggregate, Equatable {
  let id: Int
  var labels: Set<Label>
  var owner: Leaf

  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.labels), .init(\.owner)] }
}

/// An aggregate that keeps the last value of a removed entity, with other entities after it.
private struct Roster: Aggregate, Equatable {
  let id: Int
  var kept: Leaf?
  var list: [Leaf] = []
  var item: Item?
  var last: Leaf?

  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] {
    [.init(\.kept).onRemoval(.keepLastValue), .init(\.list), .init(\.item), .init(\.last)]
  }
}

/// An aggregate with an entity after its wrappers.
private struct Book: Aggregate, Equatable {
  let id: Int
  var credit: Credit?
  var credits: [Credit] = []
  var owner: Leaf

  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] {
    [.init(wrapper: \.credit), .init(wrappers: \.credits), .init(\.owner)]
  }
}

/// An aggregate with the items 1 to 4 in places of different kinds.
private struct Cabinet: Aggregate, Equatable {
  let id: Int
  var list: [Item]?
  var set: Set<Item>?
  var byKey: [String: [Item]] = [:]
  var wrappers: [Wrapper]?

  init(id: Int) { self.id = id }

  init(id: Int, key: String) {
    self.id = id
    list = [Item(id: 1, key: key)]
    set = [Item(id: 2, key: key)]
    byKey = ["a": [Item(id: 3, key: key)]]
    wrappers = [.nothing, .item(Item(id: 4, key: key))]
  }

  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] {
    [.init(\.list), .init(\.set), .init(lists: \.byKey), .init(wrappers: \.wrappers)]
  }
}
