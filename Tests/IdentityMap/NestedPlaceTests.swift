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
