import CoherenceIdentityMap
import Testing

@Suite("The change log")
struct ChangeLogTests {
  private struct Refusal: Error {}
  private let store = makeStore()

  @Test func `the change log has records only while it is kept`() {
    var held = [store.store(entity: Leaf(1))]
    #expect(store.changeLog.isEmpty)
    store.keepChangeLog(2)
    held.append(store.store(entity: Leaf(2)))
    #expect(store.changeLog.map(\.id) == ["2"])
    for limit in [0, -1] {
      store.keepChangeLog(limit)
      held.append(store.store(entity: Leaf(3 - limit)))
      #expect(store.changeLog.isEmpty)
    }
    withExtendedLifetime(held) {}
  }

  @Test func `a full change log has the records of before a transaction that throws, and continues after them`() {
    store.keepChangeLog(3)
    var held = (1...5).map { store.store(entity: Leaf($0)) }
    #expect(store.changeLog.map(\.number) == [3, 4, 5])
    try? store.transaction { store in
      held.append(store.store(entity: Leaf(6)))
      held.append(store.store(entity: Leaf(7)))
      throw Refusal()
    }
    #expect(store.changeLog.map(\.number) == [3, 4, 5])
    held.append(store.store(entity: Leaf(8)))
    held.append(store.store(entity: Leaf(9)))
    held.append(store.store(entity: Leaf(10)))
    #expect(store.changeLog.map { "\($0.number) \($0.id)" } == ["6 8", "7 9", "8 10"])
    withExtendedLifetime(held) {}
  }

  @Test func `a transaction without an origin has that of the outer one, which returns after an inner one`() {
    store.keepChangeLog(10)
    var held: [EntityObserver<Leaf>] = []
    store.transaction(origin: "outer") { store in
      held.append(store.store(entity: Leaf(1)))
      store.transaction { held.append($0.store(entity: Leaf(2))) }
      store.transaction(origin: "inner") { held.append($0.store(entity: Leaf(3))) }
      held.append(store.store(entity: Leaf(4)))
      try? store.transaction(origin: "failed") { _ in throw Refusal() }
      held.append(store.store(entity: Leaf(5)))
    }
    held.append(store.store(entity: Leaf(6)))
    #expect(store.changeLog.map(\.origin) == ["outer", "outer", "inner", "outer", "outer", nil])
    withExtendedLifetime(held) {}
  }
}
