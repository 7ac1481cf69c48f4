import CoherenceIdentityMap
import Testing

@Suite("The order of queries")
struct QueryOrderTests {
  private let store = makeStore()

  private func add(_ id: Int, _ key: String) -> EntityObserver<Item> { store.store(entity: Item(id: id, key: key)) }

  @Test func `without an order a changed entity keeps its place, and a new match is the last`() {
    let query = store.query(Item.self, where: { $0.key < "x" })
    let held = [add(1, "a"), add(2, "b"), add(3, "c")]
    #expect(query.current.map(\.id) == [1, 2, 3])
    store.update(Item.self, id: 1) { $0.key = "d" }
    #expect(query.current.map(\.id) == [1, 2, 3])
    store.update(Item.self, id: 1) { $0.key = "z" }
    #expect(query.current.map(\.id) == [2, 3])
    store.update(Item.self, id: 1) { $0.key = "a" }
    #expect(query.current.map(\.id) == [2, 3, 1])
    store.transaction { store in
      store.update(Item.self, id: 2) { $0.key = "z" }
      #expect(query.current.map(\.id) == [3, 1])
      store.update(Item.self, id: 2) { $0.key = "b" }
    }
    #expect(query.current.map(\.id) == [2, 3, 1])
    withExtendedLifetime(held) {}
  }

  @Test func `a sorted query inserts an entity at its place, after equal ones`() {
    let query = store.query(Item.self, sortedBy: \.key)
    var held = [add(1, "b"), add(2, "d"), add(3, "f")]
    held.append(add(4, "a"))
    held.append(add(5, "g"))
    held.append(add(6, "d"))
    held.append(add(7, "c"))
    #expect(query.current.map(\.id) == [4, 1, 7, 2, 6, 3, 5])
    withExtendedLifetime(held) {}
  }

  @Test func `a sorted query inserts the entities of one transaction among its members, after equal ones`() {
    let query = store.query(Item.self, sortedBy: \.key)
    func add(_ keys: [(id: Int, key: String)]) -> EntityObserver<[Item]> {
      store.store(entities: keys.map { Item(id: $0.id, key: $0.key) })
    }
    let first = add([(1, "b"), (2, "d"), (3, "f")])
    let second = add([(4, "d"), (5, "a"), (6, "g"), (7, "d"), (8, "e")])
    #expect(query.current.map(\.id) == [5, 1, 2, 4, 7, 8, 3, 6])
    withExtendedLifetime((first, second)) {}
  }

  @Test(arguments: [1, 15, 16, 17, 40])
  func `a sorted query inserts any number of entities of one transaction`(count: Int) {
    let query = store.query(Item.self, sortedBy: \.key)
    let ends = [add(0, "000"), add(50, "999")]
    let held = store.store(entities: (1...count).map { Item(id: $0, key: "\(99 - $0)") })
    let expected: [Int] = [0] + Array((1...count).reversed()) + [50]
    #expect(query.current.map(\.id) == expected)
    withExtendedLifetime((ends, held)) {}
  }
}
