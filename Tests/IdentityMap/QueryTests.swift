import CoherenceIdentityMap
import TestRandom
import Testing

@Suite("Queries")
struct QueryTests {
  private let store = makeStore()

  private func items(_ keys: [Int: String]) -> EntityObserver<[Item]> {
    store.store(entities: keys.sorted { $0.key < $1.key }.map { Item(id: $0.key, key: $0.value) })
  }

  @Test func `a query returns matching entities in order and follows changes`() {
    let held = items([1: "d", 2: "b", 3: "c", 4: "x"])
    let query = store.query(Item.self, where: { $0.key < "x" }, sortedBy: \.key)
    #expect(query.value.map(\.id) == [2, 3, 1])
    let (received, subscription) = query.changes()
    store.update(Item.self, id: 1) { $0.key = "a" }
    store.update(Item.self, id: 4) { $0.key = "bb" }
    store.update(Item.self, id: 2) { $0.key = "z" }
    let fifth = store.store(entity: Item(id: 5, key: "b"))
    #expect(received.values.map { $0.map(\.id) } == [[1, 2, 3], [1, 2, 4, 3], [1, 4, 3], [1, 5, 4, 3]])
    withExtendedLifetime((held, subscription, fifth)) {}
  }

  @Test func `an entity removed or released leaves the query`() {
    let held = items([1: "a", 2: "b"])
    var third: EntityObserver<Item>? = store.store(entity: Item(id: 3, key: "c"))
    let (received, subscription) = store.query(Item.self).changes()
    store.remove(Item.self, id: 1)
    #expect(third?.value.id == 3)
    third = nil
    #expect(received.values.map { $0.map(\.id).sorted() } == [[2, 3], [2]])
    withExtendedLifetime((held, subscription)) {}
  }

  @Test func `changes that do not affect a query notify none of its observers`() {
    let held = items([1: "a", 2: "b"])
    let (received, subscription) = store.query(Item.self, where: { $0.id == 1 }).changes()
    store.update(Item.self, id: 2) { $0.key = "c" }
    _ = store.store(entity: Leaf(1))
    #expect(received.count == 0)
    withExtendedLifetime((held, subscription)) {}
  }

  @Test func `a query over aggregates sees nested changes`() {
    let held = store.store(entities: [Root(id: 1, leaf: Leaf(2, "no")), Root(id: 3, leaf: Leaf(4, "no"))])
    let (received, subscription) = store.query(Root.self, where: { $0.leaf.text == "yes" }).changes()
    store.update(Leaf.self, id: 4) { $0.text = "yes" }
    #expect(received.values.map { $0.map(\.id) } == [[3]])
    withExtendedLifetime((held, subscription)) {}
  }

  @Test func `a transaction that throws leaves a query unchanged`() {
    struct Refusal: Error {}
    let held = items([1: "a", 2: "b"])
    let query = store.query(Item.self, sortedBy: \.key)
    try? store.transaction { store in
      store.update(Item.self, id: 1) { $0.key = "z" }
      store.remove(Item.self, id: 2)
      throw Refusal()
    }
    #expect(query.current == [Item(id: 1, key: "a"), Item(id: 2, key: "b")])
    store.update(Item.self, id: 1) { $0.key = "c" }
    #expect(query.current.map(\.id) == [2, 1])
    withExtendedLifetime(held) {}
  }

  @Test func `a list change contains the differences from the former list`() {
    let held = items([1: "a", 2: "b", 3: "c", 4: "d"])
    let received = Received<ListChange<Item>>()
    let subscription = store.query(Item.self, where: { $0.key != "gone" }, sortedBy: \.key).observeChanges {
      received.append($0)
    }
    #expect(received.values[0].insertions == [0, 1, 2, 3])
    let fifth = store.transaction { store in
      store.update(Item.self, id: 2) { $0.key = "gone" }
      store.update(Item.self, id: 4) { $0.key = "aa" }
      return store.store(entity: Item(id: 5, key: "bb"))
    }
    let change = received.values[1]
    #expect(change.entities.map(\.id) == [1, 4, 5, 3])
    #expect(change.removals == [1] && change.insertions == [2] && change.updates == [1])
    #expect(change.moves.count == 1)
    withExtendedLifetime((held, subscription, fifth)) {}
  }

  @Test(arguments: [1, 2, 3, 4, 5, 6, 7, 8] as [UInt64])
  func `differences turn the former list into the new one`(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let received = Received<ListChange<Item>>()
    let subscription = store.query(Item.self, sort: { ($0.key, $0.id) < ($1.key, $1.id) }).observeChanges {
      received.append($0)
    }
    var held: [Int: EntityObserver<Item>] = [:]
    for _ in 0..<50 {
      store.transaction { store in
        for _ in 0..<4 {
          let id = Int.random(in: 0..<12, using: &random)
          if Int.random(in: 0..<3, using: &random) == 0 {
            held[id] = nil
          } else {
            held[id] = store.store(entity: Item(id: id, key: "\(Int.random(in: 0..<9, using: &random))"))
          }
        }
      }
    }
    var list: [Item] = []
    for change in received.values {
      let former = list
      for place in change.removals { list.remove(at: place) }
      let moved = change.moves.map { former[$0.from] }
      list.removeAll { item in moved.contains { $0.id == item.id } }
      let arriving = change.insertions + change.moves.map(\.to)
      for place in arriving.sorted() { list.insert(change.entities[place], at: place) }
      for place in change.updates { list[place] = change.entities[place] }
      #expect(list == change.entities)
    }
    withExtendedLifetime(subscription) {}
  }
}
