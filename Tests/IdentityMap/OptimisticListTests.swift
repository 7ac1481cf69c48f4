import CoherenceIdentityMap
import Testing

/// Edits of aliases by optimistic changes.
@Suite("Optimistic edits of aliases")
struct OptimisticListTests {
  private struct Refusal: Error {}
  private let store = makeStore()

  private var ids: [Int]? { store.find(named: .all).value?.map(\.id) }

  private func storeList(_ ids: Int...) {
    _ = store.store(entities: ids.map { Leaf($0) }, named: .all)
  }

  private func inserting(_ id: Int, at position: ListPosition<Int> = .first) -> OptimisticChange {
    store.optimistically { $0.insert(Leaf(id, "draft"), at: position, named: .all) }
  }

  // MARK: One change

  @Test func `a tentative entry is visible at its index and disappears when its change is rolled back`() {
    storeList(1, 2)
    let (received, subscription) = store.find(named: .all).changes()
    let change = inserting(-1)
    #expect(store.find(named: .all).value == [Leaf(-1, "draft"), Leaf(1), Leaf(2)])
    change.rollback()
    #expect(ids == [1, 2] && store.find(Leaf.self, id: -1) == nil)
    #expect(received.values.map { $0?.map(\.id) } == [[-1, 1, 2], [1, 2]])
    withExtendedLifetime(subscription) {}
  }

  @Test func `a confirmed entry stays in the list`() {
    storeList(1, 2)
    let change = inserting(-1)
    let (received, subscription) = store.find(named: .all).changes()
    change.commit()
    change.rollback()
    #expect(ids == [-1, 1, 2] && received.values.isEmpty)
    store.update(Leaf.self, id: -1) { $0.text = "newer" }
    #expect(received.values.map { $0?.first?.text } == ["newer"])
    withExtendedLifetime(subscription) {}
  }

  static let positions: [(ListPosition<Int>, [Int])] = [
    (.first, [9, 1, 2, 3]), (.last, [1, 2, 3, 9]), (.before(2), [1, 9, 2, 3]), (.after(2), [1, 2, 9, 3]),
    (.before(8), [9, 1, 2, 3]), (.after(8), [1, 2, 3, 9]),
  ]

  @Test(arguments: positions)
  func `a tentative entry is at the index of its change`(position: ListPosition<Int>, expected: [Int]) {
    storeList(1, 2, 3)
    let change = inserting(9, at: position)
    #expect(ids == expected)
    change.rollback()
    #expect(ids == [1, 2, 3])
  }

  @Test func `a confirmed change that stores a list and removes an entity of it keeps its list`() {
    storeList(1, 2, 3)
    for stored in [[3], [3, 2]] {
      let change = store.optimistically { draft in
        draft.store(stored.map { Leaf($0) }, named: .all)
        draft.remove(Leaf.self, id: 3)
      }
      let expected = stored.filter { $0 != 3 }
      #expect(ids == expected)
      change.commit()
      #expect(ids == expected)
      storeList(1, 2, 3)
    }
  }

  @Test func `a change can remove, replace and append entries`() {
    storeList(1, 2, 3)
    let change = store.optimistically { draft in
      draft.removeEntry(1, named: .all)
      draft.replaceEntry(2, with: Leaf(4), named: .all)
      draft.append(entities: [Leaf(3, "other"), Leaf(5)], named: .all)
    }
    #expect(store.find(named: .all).value == [Leaf(4), Leaf(3), Leaf(5)])
    change.rollback()
    #expect(store.find(named: .all).value == [Leaf(1), Leaf(2), Leaf(3)] && store.count(of: Leaf.self) == 3)
  }

  @Test func `an entity that replaces another one in a list that contains it already keeps its index`() {
    storeList(1, 2, 3)
    let change = store.optimistically { $0.replaceEntry(1, with: Leaf(3), named: .all) }
    #expect(ids == [2, 3])
    change.commit()
    #expect(ids == [2, 3])
  }

  @Test func `a tentative list hides the confirmed list until its rollback`() {
    storeList(1, 2)
    let change = store.optimistically { $0.store([Leaf(2, "draft"), Leaf(7)], named: .all) }
    store.append(entities: [Leaf(3)], named: .all)
    #expect(store.find(named: .all).value == [Leaf(2, "draft"), Leaf(7)])
    change.rollback()
    #expect(store.find(named: .all).value == [Leaf(1), Leaf(2), Leaf(3)] && store.find(Leaf.self, id: 7) == nil)
  }

  @Test func `a tentative insertion into an empty alias shows the tentative entry alone`() {
    let change = inserting(1)
    #expect(ids == [1] && store.inspect().aliases.count == 1)
    #expect(!store.update(named: .all) { $0 = [] })
    change.rollback()
    #expect(ids == nil && store.inspect().aliases.isEmpty && store.inspect().entities.isEmpty)
  }

  @Test func `an alias of one entity can be tentatively moved to another entity or removed`() {
    _ = store.store(entity: Leaf(1), named: .chosen)
    let other = store.optimistically { $0.store(Leaf(2, "draft"), named: .chosen) }
    let nothing = store.optimistically { $0.removeAlias(named: .chosen) }
    #expect(store.find(named: .chosen).value == nil)
    nothing.rollback()
    #expect(store.find(named: .chosen).value == Leaf(2, "draft"))
    _ = store.store(entity: Leaf(3), named: .chosen)
    #expect(store.find(named: .chosen).value == Leaf(2, "draft"))
    other.rollback()
    #expect(store.find(named: .chosen).value == Leaf(3) && store.find(Leaf.self, id: 1) == nil)
  }

  @Test func `a tentative entry shows the stored value of an existing entity`() {
    let held = store.store(entity: Leaf(1, "stored"))
    let change = inserting(1)
    #expect(store.find(named: .all).value == [Leaf(1, "stored")])
    store.update(Leaf.self, id: 1) { $0.text = "newer" }
    #expect(store.find(named: .all).value == [Leaf(1, "newer")])
    change.rollback()
    #expect(ids == nil && held.current.text == "newer")
  }

  // MARK: Confirmed changes below a tentative edit

  @Test func `a page, a removal and a new list stay after the rollback of an edit above them`() {
    storeList(1, 2)
    let change = inserting(-1)
    store.append(entities: [Leaf(3)], named: .all)
    store.remove(Leaf.self, id: 1)
    #expect(ids == [-1, 2, 3])
    store.update(named: .all) { $0.append(Leaf(4)) }
    #expect(ids == [-1, 2, 3, 4])
    storeList(6, 5)
    #expect(ids == [-1, 6, 5])
    change.rollback()
    #expect(ids == [6, 5])
  }

  @Test func `an update of the list does not see tentative entries`() {
    storeList(1)
    let change = inserting(-1)
    store.update(named: .all) { list in
      #expect(list.map(\.id) == [1])
      list[0].text = "new"
    }
    #expect(store.find(named: .all).value == [Leaf(-1, "draft"), Leaf(1, "new")])
    change.rollback()
    #expect(store.find(named: .all).value == [Leaf(1, "new")])
  }

  @Test func `an entity in the server's list keeps the server's index`() {
    storeList(1)
    let change = inserting(9)
    storeList(1, 9)
    #expect(ids == [1, 9])
    change.rollback()
    #expect(ids == [1, 9])
  }

  @Test func `an entity of a tentative edit removed by a confirmed change does not return`() {
    storeList(1, 2)
    let removal = store.optimistically { $0.removeEntry(1, named: .all) }
    let insertion = inserting(9)
    store.remove(Leaf.self, id: 1)
    store.remove(Leaf.self, id: 9)
    #expect(ids == [2])
    removal.rollback()
    insertion.commit()
    #expect(ids == [2] && store.count(of: Leaf.self) == 1)
  }

  @Test func `removing an alias discards its tentative edits`() {
    storeList(1)
    let change = inserting(-1)
    store.removeAlias(named: AliasKey<[Leaf]>.all)
    #expect(ids == nil)
    change.commit()
    #expect(ids == nil)
    let other = inserting(-2)
    store.clear()
    other.rollback()
    #expect(ids == nil && store.inspect().entities.isEmpty)
  }

  @Test func `a removed entity stays out of a list with a tentative edit`() {
    storeList(1, 2)
    let (insertion, removal) = (inserting(9), store.optimistically { $0.remove(Leaf.self, id: 2) })
    #expect(ids == [9, 1])
    insertion.rollback()
    #expect(ids == [1])
    removal.rollback()
    #expect(ids == [1, 2])
  }

  // MARK: Several changes

  @Test(arguments: [[0, 1, 2], [2, 1, 0], [1, 0, 2], [1, 2, 0]])
  func `confirmed entries keep their order in whichever order their changes are confirmed`(order: [Int]) {
    storeList(1)
    let changes = [-1, -2, -3].map { inserting($0) }
    let (received, subscription) = store.find(named: .all).changes()
    for index in order { changes[index].commit() }
    #expect(ids == [-3, -2, -1, 1] && received.values.isEmpty)
    withExtendedLifetime(subscription) {}
  }

  @Test func `rolling back a change leaves the edits of other changes`() {
    storeList(1)
    let (first, second) = (inserting(-1), inserting(-2, at: .after(-1)))
    #expect(ids == [-1, -2, 1])
    second.commit()
    first.rollback()
    #expect(ids == [1, -2])
  }

  @Test func `a page below a confirmed list and an open edit is appended to that list`() {
    storeList(1)
    let open = inserting(-1)
    store.optimistically { $0.store([Leaf(5)], named: .all) }.commit()
    #expect(store.append(entities: [Leaf(6), Leaf(5)], named: .all) == 1)
    #expect(ids == [5, 6])
    open.rollback()
    #expect(ids == [5, 6])
  }

  @Test func `a page is appended after the confirmed edits above an open edit`() {
    storeList(1, 2, 3)
    let open = inserting(-1)
    store.optimistically { $0.removeEntry(3, named: .all) }.commit()
    #expect(store.append(entities: [Leaf(3), Leaf(4)], named: .all) == 2)
    #expect(ids == [-1, 1, 2, 3, 4])
    store.optimistically { $0.append(entities: [Leaf(5)], named: .all) }.commit()
    #expect(store.append(entities: [Leaf(6)], named: .all) == 1)
    #expect(ids == [-1, 1, 2, 3, 4, 5, 6])
    open.rollback()
    #expect(ids == [1, 2, 3, 4, 5, 6])
  }

  @Test func `a transaction that throws rolls back edits, commits and rollbacks`() {
    storeList(1)
    let change = inserting(-1)
    let (received, subscription) = store.find(named: .all).changes()
    try? store.transaction { store throws in
      change.commit()
      store.append(entities: [Leaf(2)], named: .all)
      let other = store.optimistically { $0.insert(Leaf(-2), named: .all) }
      #expect(store.find(named: .all).value?.map(\.id) == [-2, -1, 1, 2])
      other.commit()
      throw Refusal()
    }
    #expect(ids == [-1, 1] && received.values.isEmpty)
    change.rollback()
    #expect(ids == [1])
    withExtendedLifetime(subscription) {}
  }

  @Test func `releasing a change rolls back its edits`() {
    storeList(1)
    var change: OptimisticChange? = inserting(-1)
    #expect(ids == [-1, 1] && change != nil)
    change = nil
    #expect(ids == [1])
  }

  // MARK: Server results

  @Test func `the server's identifier replaces the temporary one`() {
    storeList(1)
    let change = inserting(-1, at: .last)
    store.append(entities: [Leaf(2)], named: .all)
    let (received, subscription) = store.find(named: .all).changes()
    change.commit(replacingWith: Leaf(7, "server"))
    #expect(store.find(named: .all).value == [Leaf(1), Leaf(2), Leaf(7, "server")] && received.count == 1)
    #expect(store.find(Leaf.self, id: -1) == nil)
    withExtendedLifetime(subscription) {}
  }

  @Test func `a server result that the list contains already keeps its index and the temporary entry disappears`() {
    storeList(1)
    let change = inserting(-1)
    storeList(1, 7)
    change.commit(replacingWith: Leaf(7))
    #expect(ids == [1, 7])
  }

  @Test func `an edit of another change follows the server's identifier`() {
    storeList(1)
    let change = inserting(-1)
    let removal = store.optimistically { $0.removeEntry(-1, named: .all) }
    let below = inserting(5, at: .before(1))
    #expect(ids == [5, 1])
    change.commit(replacingWith: Leaf(7))
    #expect(ids == [5, 1])
    removal.rollback()
    #expect(ids == [7, 5, 1])
    below.commit()
    #expect(ids == [7, 5, 1])
  }

  @Test func `a server result for another entity of the change does not replace the temporary entry`() {
    storeList(1)
    let change = store.optimistically { draft in
      draft.update(Leaf.self, id: 1) { $0.text = "draft" }
      draft.insert(Leaf(-1), named: .all)
    }
    change.commit(replacingWith: Leaf(1, "server"))
    #expect(store.find(named: .all).value == [Leaf(1, "server")])
  }

  @Test func `several server results replace the temporary entries in their order`() {
    storeList(1)
    let change = store.optimistically { $0.append(entities: [Leaf(-1), Leaf(-2)], named: .all) }
    change.commit(replacingWith: [Leaf(7), Leaf(8)])
    #expect(ids == [1, 7, 8])
  }

  @Test func `server results replace their temporary identifiers, and temporary entries without a result disappear`() {
    storeList(1)
    let change = store.optimistically { $0.append(entities: [Leaf(-1), Leaf(-2), Leaf(-3)], named: .all) }
    let stored = change.commit(replacing: [-3: Leaf(7), -1: Leaf(8, "server")])
    #expect(store.find(named: .all).value == [Leaf(1), Leaf(8, "server"), Leaf(7)])
    #expect(stored[-1]?.value == Leaf(8, "server") && store.count(of: Leaf.self) == 3)
  }

  @Test func `an archive contains the list without tentative entries`() throws {
    storeList(1)
    let change = inserting(-1)
    var archive = EntityArchive()
    try archive.add(alias: .all, from: store)
    let next = makeStore()
    try archive.restore(alias: .all, to: next)
    #expect(next.find(named: .all).value == [Leaf(1)] && ids == [-1, 1])
    withExtendedLifetime(change) {}
  }
}
