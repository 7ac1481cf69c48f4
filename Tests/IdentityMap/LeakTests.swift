import CoherenceIdentityMap
import Testing

@Suite("Leaks")
struct LeakTests {
  @Test func `values and stores are released when nothing holds them`() {
    let alive = LivingCount()
    weak var forgotten: EntityStore?
    do {
      let store = makeStore()
      forgotten = store
      let held = store.store(entity: Counted(1, Tally(alive), [Counted(2, Tally(alive)), Counted(3, Tally(alive))]))
      let list = store.store(entities: [Counted(4, Tally(alive)), Counted(5, Tally(alive))])
      let query = store.query(Counted.self)
      let subscription = list.observe { _ in }
      let other = query.observe { _ in }
      #expect(alive.value >= 5)
      withExtendedLifetime((held, subscription, other)) {}
    }
    #expect(alive.value == 0 && forgotten == nil)
  }

  @Test func `an observer outlives its store and keeps its value`() {
    let alive = LivingCount()
    var held: EntityObserver<Counted>?
    var subscription: EntityStore.Subscription?
    do {
      let store = makeStore()
      _ = store.store(entity: Counted(9, Tally(alive)), named: AliasKey("a"))
      held = store.store(entity: Counted(1, Tally(alive)))
      subscription = held?.observe { _ in }
    }
    #expect(held?.current.id == 1)
    held = nil
    #expect(alive.value > 0)
    subscription = nil
    #expect(alive.value == 0 && subscription == nil)
  }

  @Test func `cycles of entities are released with their store and before it`() {
    let alive = LivingCount()
    let store = makeStore()
    func ring(_ size: Int) -> Counted {
      var value = Counted(0, Tally(alive))
      for id in (0..<size).reversed() { value = Counted(id, Tally(alive), [value]) }
      return value
    }
    var held: EntityObserver<Counted>? = store.store(entity: ring(50))
    #expect(store.count(of: Counted.self) == 50 && held != nil)
    held = nil
    #expect(store.count(of: Counted.self) == 0)
    #expect(alive.value == 0)
  }

  @Test func `a rolled-back transaction retains nothing`() {
    struct Refusal: Error {}
    let alive = LivingCount()
    let store = makeStore()
    try? store.transaction { store in
      _ = store.store(entity: Counted(1, Tally(alive), [Counted(2, Tally(alive))]), named: AliasKey("a"))
      throw Refusal()
    }
    #expect(alive.value == 0 && store.count(of: Counted.self) == 0)
  }
}

/// An entity whose values are counted.
private struct Counted: Aggregate {
  let id: Int
  let tally: Tally
  var others: [Counted]
  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.others)] }

  init(_ id: Int, _ tally: Tally, _ others: [Counted] = []) {
    self.id = id
    self.tally = tally
    self.others = others
  }
}
