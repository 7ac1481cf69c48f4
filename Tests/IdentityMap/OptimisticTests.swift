import CoherenceIdentityMap
import Testing

@Suite("Optimistic changes")
struct OptimisticTests {
  private let store = makeStore()

  @Test func `an optimistic change is visible at once and can be rolled back`() {
    let held = store.store(entity: Leaf(1, "sure"))
    let (received, subscription) = held.changes()
    let change = store.optimistically { $0.update(Leaf.self, id: 1) { $0.text? += "!" } }
    #expect(held.current.text == "sure!")
    change.rollback()
    change.commit()
    #expect(received.values == [Leaf(1, "sure!"), Leaf(1, "sure")])
    withExtendedLifetime(subscription) {}
  }

  @Test func `confirmed data is stored below a tentative change`() {
    let held = store.store(entity: Leaf(1, "sure"))
    let change = store.optimistically { $0.update(Leaf.self, id: 1) { $0.text? += "!" } }
    _ = store.store(entity: Leaf(1, "surer"))
    #expect(held.current.text == "surer!")
    change.rollback()
    #expect(held.current.text == "surer")
  }

  @Test func `optimistic changes stack and are rolled back one by one`() {
    let held = store.store(entity: Leaf(1, "0"))
    let first = store.optimistically { $0.update(Leaf.self, id: 1) { $0.text? += "1" } }
    let second = store.optimistically { $0.update(Leaf.self, id: 1) { $0.text? += "2" } }
    #expect(held.current.text == "012")
    first.rollback()
    #expect(held.current.text == "02")
    second.commit()
    #expect(held.current.text == "02")
    _ = store.store(entity: Leaf(1, "3"))
    #expect(held.current.text == "3", "What is sure can be replaced.")
  }

  @Test func `an entity stored tentatively is removed by a rollback and stays after a commit`() {
    let (all, subscription) = store.query(Leaf.self).changes()
    var change: OptimisticChange? = store.optimistically { $0.store(Leaf(1, "draft")) }
    #expect(store.find(Leaf.self, id: 1)?.value.text == "draft")
    change = nil
    #expect(store.find(Leaf.self, id: 1) == nil && change == nil)
    let other = store.optimistically { $0.store(Leaf(2, "draft")) }
    let held = store.find(Leaf.self, id: 2)
    other.commit()
    #expect(held?.current.text == "draft")
    #expect(all.values.map { $0.map(\.id) } == [[1], [], [2]])
    withExtendedLifetime(subscription) {}
  }

  @Test(arguments: [false, true])
  func `an update of an entity that another change has stored is confirmed with that change`(isConfirmed: Bool) {
    let storing = store.optimistically { $0.store(Leaf(1, "draft")) }
    let held = store.find(Leaf.self, id: 1)
    let update = store.optimistically { $0.update(Leaf.self, id: 1) { $0.text? += "!" } }
    update.commit()
    #expect(store.find(Leaf.self, id: 1)?.value.text == "draft!")
    if isConfirmed { storing.commit() } else { storing.rollback() }
    #expect(store.find(Leaf.self, id: 1)?.value.text == (isConfirmed ? "draft!" : nil))
    withExtendedLifetime((held, update)) {}
  }

  @Test func `an update of an entity that another change has stored is rolled back alone`() {
    let storing = store.optimistically { $0.store(Leaf(1, "draft")) }
    let held = store.find(Leaf.self, id: 1)
    store.optimistically { $0.update(Leaf.self, id: 1) { $0.text? += "!" } }.rollback()
    #expect(store.find(Leaf.self, id: 1)?.value.text == "draft")
    storing.commit()
    #expect(held?.current.text == "draft")
  }

  @Test func `an aggregate with an optimistic change follows its children`() {
    let held = store.store(entity: Root(id: 1, leaf: Leaf(2), items: [Item(id: 3)]))
    let change = store.optimistically { draft in
      draft.update(Root.self, id: 1) {
        $0.text = "draft"
        $0.items.append(Item(id: 4))
      }
    }
    store.update(Leaf.self, id: 2) { $0.text = "new" }
    store.update(Item.self, id: 3) { $0.key = "new" }
    #expect(
      held.current == Root(id: 1, text: "draft", leaf: Leaf(2, "new"), items: [Item(id: 3, key: "new"), Item(id: 4)]))
    change.rollback()
    #expect(held.current == Root(id: 1, leaf: Leaf(2, "new"), items: [Item(id: 3, key: "new")]))
    #expect(store.find(Item.self, id: 4) == nil)
  }

  @Test(arguments: [false, true])
  func `a confirmed update of an entity that another change has stored outlasts the rollback of a third change`(
    isConfirmed: Bool
  ) {
    let storing = store.optimistically { $0.store(Leaf(1, "draft")) }
    let held = store.find(Leaf.self, id: 1)
    let other = store.optimistically { $0.update(Leaf.self, id: 1) { $0.text? += "?" } }
    store.optimistically { $0.update(Leaf.self, id: 1) { $0.text? += "!" } }.commit()
    #expect(held?.current.text == "draft?!")
    other.rollback()
    #expect(held?.current.text == "draft!")
    if isConfirmed { storing.commit() } else { storing.rollback() }
    #expect(store.find(Leaf.self, id: 1)?.value.text == (isConfirmed ? "draft!" : nil))
  }

  @Test(arguments: [false, true])
  func `a confirmed update of an entity that one change has stored and another has updated is a part of the first`(
    isConfirmed: Bool
  ) {
    let storing = store.optimistically { $0.store(Leaf(1, "draft")) }
    let held = store.find(Leaf.self, id: 1)
    let other = store.optimistically { $0.update(Leaf.self, id: 1) { $0.text? += "?" } }
    store.update(Leaf.self, id: 1) { $0.text? += "!" }
    #expect(held?.current.text == "draft!?")
    other.rollback()
    #expect(held?.current.text == "draft!")
    if isConfirmed { storing.commit() } else { storing.rollback() }
    #expect(store.find(Leaf.self, id: 1)?.value.text == (isConfirmed ? "draft!" : nil))
  }

  @Test(arguments: [0, 1])
  func `a confirmed update of an entity that two changes have inserted outlasts the rollback of either`(index: Int) {
    let changes = (2...3).map { id in store.optimistically { $0.store(Root(id: id, leaf: Leaf(1, "draft"))) } }
    store.update(Leaf.self, id: 1) { $0.text = "new" }
    changes[index].rollback()
    #expect(store.find(Leaf.self, id: 1)?.value.text == "new")
    changes[1 - index].rollback()
    #expect(store.find(Leaf.self, id: 1) == nil)
  }

  @Test(arguments: [false, true], [false, true])
  func `a confirmed change of an entity that two changes have stored outlasts the rollback of either`(
    isNestedFirst: Bool, isNestedSecond: Bool
  ) {
    for index in 0...1 {
      let store = makeStore()
      let changes = [isNestedFirst, isNestedSecond].enumerated().map { position, isNested in
        store.optimistically { draft in
          if isNested {
            draft.store(Root(id: position, leaf: Leaf(1, "draft")))
          } else {
            draft.store(Leaf(1, "draft"))
          }
        }
      }
      store.optimistically { $0.update(Leaf.self, id: 1) { $0.text? += "!" } }.commit()
      #expect(store.find(Leaf.self, id: 1)?.value.text == "draft!")
      changes[index].rollback()
      #expect(store.find(Leaf.self, id: 1)?.value.text == "draft!")
      changes[1 - index].rollback()
      #expect(store.find(Leaf.self, id: 1) == nil)
    }
  }

  @Test(arguments: [0, 1])
  func `a confirmed change above the update of an open change keeps its place beside a nested insertion`(index: Int) {
    let changes = [
      store.optimistically { $0.store(Leaf(1, "draft")) },
      store.optimistically { $0.store(Root(id: 2, leaf: Leaf(1, "draft"))) },
    ]
    let held = store.find(Leaf.self, id: 1)
    let other = store.optimistically { $0.update(Leaf.self, id: 1) { $0.text? += "?" } }
    store.optimistically { $0.update(Leaf.self, id: 1) { $0.text? += "!" } }.commit()
    #expect(held?.current.text == "draft?!")
    other.rollback()
    changes[index].rollback()
    #expect(held?.current.text == "draft!")
    changes[1 - index].commit()
    #expect(held?.current.text == "draft!")
  }

  @Test func `the cost of an update of a tentative entity does not grow with the number of earlier updates`() {
    let calls = Received<Int>()
    let storing = store.optimistically { $0.store(Leaf(1, "draft")) }
    let held = store.find(Leaf.self, id: 1)
    func callCount(ofUpdates count: Int) -> Int {
      calls.clear()
      for index in 0..<count {
        store.update(Leaf.self, id: 1) { $0.text = "\(index)" }
        let change = store.optimistically { draft in
          draft.update(Leaf.self, id: 1) { leaf in
            calls.append(index)
            leaf.text? += "!"
          }
        }
        change.commit()
      }
      return calls.count
    }
    let first = callCount(ofUpdates: 10)
    let second = callCount(ofUpdates: 10)
    #expect(first == second)
    storing.commit()
    #expect(held?.current.text == "9!")
  }

  // MARK: Nested entities

  @Test func `the closure of a change receives the current entities of an aggregate with another open change`() {
    let held = store.store(entity: Root(id: 1, leaf: Leaf(2, "old")))
    let first = store.optimistically { $0.update(Root.self, id: 1) { $0.items.append(Item(id: 3)) } }
    store.update(Leaf.self, id: 2) { $0.text = "new" }
    let second = store.optimistically { $0.update(Root.self, id: 1) { $0.text = $0.leaf.text ?? "" } }
    let expected = Root(id: 1, text: "new", leaf: Leaf(2, "new"), items: [Item(id: 3)])
    #expect(held.current == expected)
    second.commit()
    first.commit()
    #expect(held.current == expected)
  }

  @Test func `the closure of a change receives the current entities when a stored aggregate has older ones`() {
    let leaf = store.store(entity: Leaf(2, "new"), modifiedAt: 9)
    let held = store.store(entity: Root(id: 1, leaf: Leaf(2, "old")), modifiedAt: 1)
    let change = store.optimistically { $0.update(Root.self, id: 1) { $0.text = $0.leaf.text ?? "" } }
    store.store(Root(id: 1, text: "server", leaf: Leaf(2, "old")), modifiedAt: 2)
    #expect(held.current == Root(id: 1, text: "new", leaf: Leaf(2, "new")))
    change.rollback()
    #expect(held.current == Root(id: 1, text: "server", leaf: Leaf(2, "new")))
    withExtendedLifetime(leaf) {}
  }

  @Test func `an update below an open change receives the current entities of every level`() {
    let held = store.store(entity: Outer(inner: Inner(leaf: Leaf(1, "old"))))
    let person = store.store(entity: Person(1, "person", [Person(2, "friend", [Person(3, "old")])]))
    let change = store.optimistically { draft in
      draft.update(Outer.self, id: 1) { _ in }
      draft.update(Person.self, id: 1) { $0.name += "!" }
    }
    store.update(Leaf.self, id: 1) { $0.text = "new" }
    var received: String?
    store.update(Outer.self, id: 1) { received = $0.inner.leaf.text }
    store.update(Person.self, id: 3) { $0.name = "new" }
    store.update(Person.self, id: 1) { $0.name = $0.friends[0].friends[0].name }
    #expect(received == "new" && held.current.inner.leaf.text == "new" && person.current.name == "new!")
    change.rollback()
    #expect(person.current == Person(1, "new", [Person(2, "friend", [Person(3, "new")])]))
  }

  @Test(arguments: [false, true])
  func `an update of a tentative aggregate changes a nested entity below the open changes of the entity`(
    isConfirmed: Bool
  ) {
    let leaf: EntityObserver<Leaf>? = isConfirmed ? store.store(entity: Leaf(2, "old")) : nil
    let storing = store.optimistically { $0.store(Root(id: 1, leaf: Leaf(2, "old"))) }
    let other = store.optimistically { $0.update(Leaf.self, id: 2) { $0.text? += "?" } }
    store.update(Root.self, id: 1) { $0.leaf.text? += "!" }
    let held = store.find(Root.self, id: 1)
    #expect(held?.current.leaf.text == "old!?")
    other.rollback()
    #expect(held?.current.leaf.text == "old!")
    storing.rollback()
    #expect(leaf?.current.text == (isConfirmed ? "old!" : nil))
  }

  @Test func `an entity that a confirmed change replaces is evicted while another change is open`() {
    let held = store.store(entity: Root(id: 1, leaf: Leaf(2)))
    let open = store.optimistically { $0.update(Root.self, id: 1) { $0.text = "open" } }
    for id in 3...5 { store.optimistically { $0.update(Root.self, id: 1) { $0.leaf = Leaf(id) } }.commit() }
    #expect(store.find(Leaf.self, id: 2) == nil && store.count(of: Leaf.self) == 1)
    open.rollback()
    #expect(held.current == Root(id: 1, leaf: Leaf(5)))
  }

  @Test func `an entity of a confirmed value stays and gets newer values while another change hides it`() {
    let held = store.store(entity: Root(id: 1, leaf: Leaf(2)))
    let adding = store.optimistically { $0.update(Root.self, id: 1) { $0.items.append(Item(id: 3, key: "old")) } }
    let hiding = store.optimistically { $0.update(Root.self, id: 1) { $0.items = [] } }
    adding.commit()
    #expect(held.current.items.isEmpty && store.find(Item.self, id: 3)?.value.key == "old")
    store.store(Item(id: 3, key: "new"))
    hiding.rollback()
    #expect(held.current.items == [Item(id: 3, key: "new")])
  }

  @Test func `a rollback of an update from before a confirmed removal changes nothing in the aggregate stored again`() {
    store.setPolicy(for: Item.self) { $0.lifetime = .pinned }
    _ = store.store(entity: Item(id: 6))
    let held = store.store(entity: Root(id: 1, leaf: Leaf(2)))
    let update = store.optimistically { $0.update(Root.self, id: 1) { $0.text = "draft" } }
    let removal = store.optimistically { $0.remove(Root.self, id: 1) }
    let storing = store.optimistically { draft in
      draft.store(Root(id: 1, leaf: Leaf(2)))
      draft.update(Root.self, id: 1) { $0.items = [Item(id: 6)] }
    }
    removal.commit()
    store.remove(Item.self, id: 6)
    #expect(held.current.items.isEmpty)
    update.rollback()
    #expect(held.current.items.isEmpty && store.find(Item.self, id: 6) == nil)
    withExtendedLifetime(storing) {}
  }
}
