import CoherenceIdentityMap
import Testing

/// Each named after a fault of the model that this module follows, which it does not have.
@Suite("Faults: the graph")
struct GraphFaultTests {
  private let store = makeStore()

  @Test func `fault 1a: a refresh of several posts by one author changes all of them`() {
    func posts(_ text: String) -> [Root] { (1...5).map { Root(id: $0, text: text, leaf: Leaf(9, text)) } }
    let held = store.store(entities: posts("old"))
    _ = store.store(entities: posts("new"))
    #expect(held.current == posts("new"))
  }

  @Test func `fault 1b: a parent is stored with the same call as its child`() {
    let held = store.store(entities: [Person(1, "child"), Person(2, "parent", [Person(1, "child")])])
    _ = store.store(entities: [Person(1, "child'"), Person(2, "parent'", [Person(1, "child'")])])
    #expect(held.current[1] == Person(2, "parent'", [Person(1, "child'")]))
  }

  @Test func `fault 1c: two aggregates that share a leaf in one outer value are both stored`() {
    let old = [Person(1, "a", [Person(3, "leaf")]), Person(2, "b", [Person(3, "leaf")])]
    let rows = store.store(entities: old)
    let outer = store.store(entity: Person(9, "outer", old))
    let new = [Person(1, "a'", [Person(3, "leaf'")]), Person(2, "b'", [Person(3, "leaf'")])]
    _ = store.store(entity: Person(9, "outer", new))
    #expect(rows.current == new && outer.current.friends == new)
  }

  @Test func `fault 2: the same child at two places of one parent is current at both`() {
    let held = store.store(entity: Document(id: 1, author: Leaf(2), editor: Leaf(2), readers: [Leaf(2), Leaf(2)]))
    _ = store.store(entity: Leaf(2, "new"))
    let new = Leaf(2, "new")
    #expect(held.current == Document(id: 1, author: new, editor: new, readers: [new, new]))
  }

  @Test func `fault 3: removed aliases have no links left`() {
    _ = store.store(entity: Leaf(1), named: .chosen)
    _ = store.store(entities: [Leaf(1)], named: .all)
    let held = store.find(Leaf.self, id: 1)
    store.removeAllAlias()
    _ = store.store(entity: Leaf(1, "new"))
    #expect(store.find(named: .chosen).value == nil && store.find(named: .all).value == nil)
    #expect(held?.current.text == "new")
  }

  @Test func `fault 4: a rejected aggregate leaves the links as they were`() {
    var root = Root(id: 1, leaf: Leaf(9), items: [Item(id: 1), Item(id: 2)])
    let held = store.store(entity: root, modifiedAt: 10)
    root.items = [Item(id: 3), Item(id: 4), Item(id: 5)]
    _ = store.store(entity: root, modifiedAt: 5)
    #expect(store.find(Item.self, id: 3) == nil, "Nothing of a rejected aggregate is stored.")
    let others = store.store(entities: [Item(id: 3, key: "x"), Item(id: 5, key: "x"), Item(id: 2, key: "y")])
    #expect(held.current.items == [Item(id: 1), Item(id: 2, key: "y")])
    withExtendedLifetime(others) {}
  }

  @Test func `fault 5: an accepted aggregate shows a newer child that the store has`() {
    let leaf = store.store(entity: Leaf(2, "fresh"), modifiedAt: 10)
    let held = store.store(entity: Root(id: 1, leaf: Leaf(2, "stale")), modifiedAt: 5)
    #expect(held.value.leaf == Leaf(2, "fresh") && leaf.current == Leaf(2, "fresh"))
  }

  @Test func `fault 6: children keep their stamps when their parent is stored again`() {
    let held = store.store(entity: Root(id: 1, leaf: Leaf(2, "fresh")), modifiedAt: 10)
    _ = store.store(entity: Root(id: 1, leaf: Leaf(2, "stale")), modifiedAt: 5)
    _ = store.store(entity: Leaf(2, "stale"), modifiedAt: 6)
    #expect(held.current.leaf == Leaf(2, "fresh"))
    _ = store.store(entity: Root(id: 1, text: "unstamped", leaf: Leaf(2, "fresh")))
    _ = store.store(entity: Leaf(2, "stale"), modifiedAt: 7)
    #expect(held.current.leaf == Leaf(2, "fresh"))
  }

  @Test func `fault 7: of two versions of one entity in one transaction all aggregates show the same`() {
    let held = store.store(entities: [Root(id: 1, leaf: Leaf(3, "a")), Root(id: 2, leaf: Leaf(3, "b"))])
    #expect(held.value.map(\.leaf) == [Leaf(3, "b"), Leaf(3, "b")])
    #expect(store.find(Leaf.self, id: 3)?.value == Leaf(3, "b"))
    let document = store.store(entity: Document(id: 1, author: Leaf(4, "a"), editor: Leaf(4, "b")))
    #expect(document.value.author == Leaf(4, "b") && document.value.editor == Leaf(4, "b"))
    let stamped = store.store(
      entities: [Root(id: 5, leaf: Leaf(6, "a")), Root(id: 7, leaf: Leaf(6, "b"))], modifiedAt: 1)
    #expect(stamped.value.map(\.leaf) == [Leaf(6, "b"), Leaf(6, "b")])
  }

  @Test func `fault 8: storing entities that contain each other ends`() {
    let held = store.store(entity: Person(1, "a", [Person(2, "b", [Person(1, "a")])]), modifiedAt: 1)
    #expect(held.value == Person(1, "a", [Person(2, "b", [Person(1, "a")])]))
    for round in 0..<10 { store.update(Person.self, id: 1) { $0.name = "a\(round)" } }
    for round in 0..<10 { store.update(Person.self, id: 2) { $0.name = "b\(round)" } }
    let first = store.find(Person.self, id: 1)?.value
    #expect(first?.name == "a9" && first?.friends.first?.name == "b9")
    let second = store.find(Person.self, id: 2)?.value
    #expect(second?.name == "b9" && second?.friends.first?.name == "a9", "What one contains directly is current.")
    #expect(depth(of: first) <= 4 && depth(of: second) <= 4, "Values do not grow.")
  }

  private func depth(of person: Person?) -> Int {
    guard let person else { return 0 }
    return 1 + depth(of: person.friends.first)
  }

  @Test func `fault 8b: entities that contain each other are released when nothing holds them`() {
    var held: EntityObserver<Person>? = store.store(entity: Person(1, "a", [Person(2, "b", [Person(1, "a")])]))
    #expect(store.count(of: Person.self) == 2 && held != nil)
    held = nil
    #expect(store.count(of: Person.self) == 0)
  }

  @Test func `fault 9: the cost of a diamond of 20 layers grows with its links`() {
    var kept = [store.store(entity: Person(0, "leaf"))]
    var below = [kept[0].value]
    for layer in 1...20 {
      let layerOf = [Person(2 * layer - 1, "", below), Person(2 * layer, "", below)].map { store.store(entity: $0) }
      kept += layerOf
      below = layerOf.map(\.value)
    }
    let (received, subscription) = kept[40].changes()
    store.update(Person.self, id: 0) { $0.name = "new" }
    var person = received.values[0]
    for _ in 0..<20 { person = person.friends.last ?? person }
    #expect(received.count == 1 && person.name == "new")
    withExtendedLifetime(subscription) {}
  }

  @Test func `fault 12: types with equal names and identifiers with equal descriptions are distinguished`() {
    enum First { struct Thing: Identifiable, Sendable { let id: Ambiguous } }
    enum Second { struct Thing: Identifiable, Sendable { let id: Ambiguous } }
    let first = store.store(entity: First.Thing(id: Ambiguous(number: 1)))
    let second = store.store(entity: Second.Thing(id: Ambiguous(number: 1)))
    let third = store.store(entity: First.Thing(id: Ambiguous(number: 2)))
    #expect(store.find(First.Thing.self, id: Ambiguous(number: 1)) != nil)
    #expect(store.find(Second.Thing.self, id: Ambiguous(number: 1)) != nil)
    #expect(store.count(of: First.Thing.self) == 2 && store.count(of: Second.Thing.self) == 1)
    withExtendedLifetime((first, second, third)) {}
  }

  @Test
  func `fault 17: after removing everything, storing an identifier again notifies the observers of that identifier`() {
    let one = store.store(entity: Leaf(1))
    let list = store.store(entities: [Leaf(1), Leaf(2)])
    let (received, subscription) = one.changes()
    store.removeAll()
    #expect(store.find(Leaf.self, id: 1) == nil)
    let again = store.store(entity: Leaf(1, "new"))
    #expect(received.values == [Leaf(1, "new")] && one.current == again.value)
    #expect(list.current == [], "Removed entities leave their lists.")
    withExtendedLifetime(subscription) {}
  }

  @Test func `fault 21: an enum stays in its case when the entity of a former case changes`() {
    let held = store.store(entity: Root(id: 1, leaf: Leaf(2), wrapper: .leaf(Leaf(3))), modifiedAt: 10)
    _ = store.store(entity: Root(id: 1, leaf: Leaf(2), wrapper: .item(Item(id: 4))), modifiedAt: 5)
    store.update(Leaf.self, id: 3) { $0.text = "new" }
    #expect(held.current.wrapper == .leaf(Leaf(3, "new")))
    _ = store.store(entity: Root(id: 1, leaf: Leaf(2), wrapper: .item(Item(id: 4))), modifiedAt: 11)
    let leaf = store.store(entity: Leaf(3, "newer"))
    #expect(held.current.wrapper == .item(Item(id: 4)) && leaf.value.text == "newer")
  }
}

/// Its description says nothing.
struct Ambiguous: Hashable, Sendable, CustomStringConvertible {
  let number: Int
  var description: String { "thing" }
}
