import CoherenceIdentityMap
import Dispatch
import Synchronization
import Testing

@Suite("Snapshots of several entities")
struct SnapshotTests {
  private struct Refusal: Error {}
  private let store = makeStore()

  /// The texts of a leaf and a root.
  private struct Texts: Equatable {
    let leaf: String?
    let root: String?

    init(_ leaf: String?, _ root: String?) {
      (self.leaf, self.root) = (leaf, root)
    }

    init(_ parts: (Leaf?, Root?)) {
      self.init(parts.0?.text, parts.1?.text)
    }
  }

  private func pair() -> EntityObserver<(Leaf?, Root?)> {
    store.snapshot(of: .entity(Leaf.self, id: 1), .entity(Root.self, id: 2))
  }

  private func storePair(_ text: String) -> [Any] {
    [store.store(entity: Leaf(1, text)), store.store(entity: Root(id: 2, text: text, leaf: Leaf(3)))]
  }

  private func change(to text: String, in store: EntityStore) {
    store.update(Leaf.self, id: 1) { $0.text = text }
    store.update(Root.self, id: 2) { $0.text = text }
  }

  private func follow(
    on delivery: Delivery = .immediate
  ) -> (received: Received<Texts>, subscription: EntityStore.Subscription) {
    let received = Received<Texts>()
    return (received, pair().observe(on: delivery) { received.append(Texts($0)) })
  }

  // MARK: Whole transactions

  @Test func `a transaction that changes several parts is one delivery of a snapshot`() {
    let held = storePair("0")
    let (received, subscription) = follow()
    store.transaction { change(to: "1", in: $0) }
    store.update(Leaf.self, id: 1) { $0.text = "2" }
    #expect(received.values == [Texts("0", "0"), Texts("1", "1"), Texts("2", "1")])
    withExtendedLifetime((held, subscription)) {}
  }

  @Test func `a snapshot shows one transaction where two observers show two`() {
    let held = storePair("0")
    let work = Received<@Sendable () -> Void>()
    let (leaf, root) = (Received<String?>(), Received<String?>())
    let subscriptions = [
      store.find(Leaf.self, id: 1)?.observe(on: .custom { work.append($0) }) { leaf.append($0.text) },
      store.find(Root.self, id: 2)?.observe(on: .custom { work.append($0) }) { root.append($0.text) },
    ]
    let (received, subscription) = follow(on: .custom { work.append($0) })
    store.transaction { change(to: "1", in: $0) }
    #expect(work.count == 3)
    work.values[0]()
    store.transaction { change(to: "2", in: $0) }
    for piece in work.values.dropFirst() { piece() }
    #expect(received.values == [Texts("0", "0"), Texts("2", "2")])
    let mixed = leaf.values.contains("1") != root.values.contains("1")
    #expect(mixed, "The observers of the parts are the reason for snapshots.")
    withExtendedLifetime((held, subscriptions, subscription)) {}
  }

  @Test func `a snapshot's delivery that runs inside a transaction waits for the end of the transaction`() {
    let held = storePair("0")
    let work = Received<@Sendable () -> Void>()
    let (received, subscription) = follow(on: .custom { work.append($0) })
    store.transaction { change(to: "1", in: $0) }
    store.transaction { store in
      store.update(Leaf.self, id: 1) { $0.text = "2" }
      for piece in work.values { piece() }
      store.update(Root.self, id: 2) { $0.text = "2" }
    }
    #expect(received.values == [Texts("0", "0")] && work.count == 2)
    work.values[1]()
    #expect(received.values == [Texts("0", "0"), Texts("2", "2")])
    withExtendedLifetime((held, subscription)) {}
  }

  @Test(arguments: [false, true])
  func `a snapshot's delivery that waits for a transaction is not lost when the transaction is rolled back`(
    isNested: Bool
  ) {
    let held = storePair("0")
    let work = Received<@Sendable () -> Void>()
    let (received, subscription) = follow(on: .custom { work.append($0) })
    store.transaction { change(to: "1", in: $0) }
    try? store.transaction { store throws in
      try? store.transaction { store throws in
        store.update(Leaf.self, id: 1) { $0.text = "undone" }
        work.values[0]()
        if isNested { throw Refusal() }
      }
      throw Refusal()
    }
    #expect(received.values == [Texts("0", "0")] && work.count == 2)
    work.values.last?()
    #expect(received.values == [Texts("0", "0"), Texts("1", "1")])
    withExtendedLifetime((held, subscription)) {}
  }

  @Test func `an observer of a snapshot receives nothing of a rolled-back transaction`() {
    let held = storePair("0")
    let (received, subscription) = follow()
    try? store.transaction { store throws in
      change(to: "undone", in: store)
      throw Refusal()
    }
    #expect(received.values == [Texts("0", "0")] && Texts(pair().current) == Texts("0", "0"))
    withExtendedLifetime((held, subscription)) {}
  }

  @Test
  func `an observer of a snapshot that begins in a transaction receives the state at its end, or after its rollback`() {
    let held = storePair("0")
    let begun = Received<Texts>()
    let subscription = store.transaction { store in
      store.update(Leaf.self, id: 1) { $0.text = "1" }
      let subscription = pair().observe { begun.append(Texts($0)) }
      store.update(Root.self, id: 2) { $0.text = "1" }
      return subscription
    }
    #expect(begun.values == [Texts("1", "0"), Texts("1", "1")])
    let undone = Received<Texts>()
    var other: EntityStore.Subscription?
    try? store.transaction { store throws in
      store.update(Leaf.self, id: 1) { $0.text = "undone" }
      other = pair().observe { undone.append(Texts($0)) }
      throw Refusal()
    }
    #expect(undone.values == [Texts("undone", "1"), Texts("1", "1")])
    withExtendedLifetime((held, subscription, other)) {}
  }

  // MARK: Parts

  @Test func `a part is nil until its entity is stored and after its removal`() {
    let (received, subscription) = follow()
    var held = storePair("0")
    store.remove(Leaf.self, id: 1)
    held.append(store.store(entity: Leaf(1, "again")))
    store.remove(Leaf.self, id: 3)
    #expect(
      received.values == [
        Texts(nil, nil), Texts("0", nil), Texts("0", "0"), Texts(nil, "0"), Texts("again", "0"), Texts("again", nil),
      ])
    withExtendedLifetime((held, subscription)) {}
  }

  @Test func `a part is nil while its entity is removed optimistically`() {
    let held = storePair("0")
    let (received, subscription) = follow()
    let change = store.optimistically { $0.remove(Leaf.self, id: 1) }
    change.rollback()
    #expect(received.values == [Texts("0", "0"), Texts(nil, "0"), Texts("0", "0")])
    withExtendedLifetime((held, subscription)) {}
  }

  @Test func `aliases, lists, queries and entities can be parts of one snapshot`() {
    let snapshot = store.snapshot(
      of: .alias(AliasKey<Leaf>.chosen), .alias(AliasKey<[Leaf]>.all),
      SnapshotPart.query(Leaf.self, where: { $0.text == "new" }), .entities(Leaf.self, ids: [2, 9, 1]))
    let received = Received<[[Int]]>()
    let subscription = snapshot.observe { chosen, all, query, entities in
      received.append([chosen.map { [$0.id] } ?? [], (all ?? []).map(\.id), query.map(\.id), entities.map(\.id)])
    }
    store.transaction { store in
      _ = store.store(entity: Leaf(1, "new"), named: .chosen)
      _ = store.store(entities: [Leaf(1, "new"), Leaf(2)], named: .all)
    }
    store.update(Leaf.self, id: 2) { $0.text = "new" }
    store.removeAlias(named: AliasKey<Leaf>.chosen)
    store.remove(Leaf.self, id: 1)
    let expected: [[[Int]]] = [
      [[], [], [], []], [[1], [1, 2], [1], [2, 1]], [[1], [1, 2], [1, 2], [2, 1]], [[], [1, 2], [1, 2], [2, 1]],
      [[], [2], [2], [2]],
    ]
    #expect(received.values == expected)
    withExtendedLifetime(subscription) {}
  }

  @Test func `an observer of a snapshot is notified when only a query of the snapshot changes`() {
    let received = Received<[Int]>()
    let snapshot = store.snapshot(of: .entity(Root.self, id: 1), .query(Leaf.self))
    let subscription = snapshot.observe { received.append($0.1.map(\.id)) }
    let held = store.store(entity: Leaf(1))
    #expect(received.values == [[], [1]])
    withExtendedLifetime((held, subscription)) {}
  }

  @Test func `nested and repeated parts of a snapshot show one state`() {
    let held = store.store(entity: Root(id: 2, leaf: Leaf(1, "0")))
    let snapshot = store.snapshot(
      of: .entity(Leaf.self, id: 1), .entity(Root.self, id: 2), .entity(Leaf.self, id: 1))
    let received = Received<[String?]>()
    let subscription = snapshot.observe { received.append([$0.0?.text, $0.1?.leaf.text, $0.2?.text]) }
    store.update(Leaf.self, id: 1) { $0.text = "1" }
    #expect(received.values == [["0", "0", "0"], ["1", "1", "1"]])
    withExtendedLifetime((held, subscription)) {}
  }

  @Test func `an observer of a snapshot is not notified of equal values`() {
    let held = storePair("0")
    let (received, subscription) = follow()
    _ = store.store(entity: Leaf(1, "0"))
    #expect(received.count == 1)
    withExtendedLifetime((held, subscription)) {}
  }

  @Test func `an observer of a part is notified before an observer of the snapshot`() {
    let held = storePair("0")
    let received = Received<String>()
    let subscriptions = [
      pair().observe { _ in received.append("snapshot") },
      store.find(Leaf.self, id: 1)?.observe { _ in received.append("leaf") },
      store.query(Leaf.self).observe { _ in received.append("query") },
    ]
    received.clear()
    store.update(Leaf.self, id: 1) { $0.text = "1" }
    #expect(received.values == ["leaf", "query", "snapshot"])
    withExtendedLifetime((held, subscriptions)) {}
  }

  // MARK: Lifetime

  @Test func `a snapshot and its subscription retain the entities of its parts`() {
    var held: [Any] = storePair("0")
    var snapshot: EntityObserver<(Leaf?, Root?)>? = pair()
    var subscription = snapshot?.observe { _ in }
    held = []
    #expect(store.count(of: Leaf.self) == 2 && store.count(of: Root.self) == 1 && held.isEmpty)
    snapshot = nil
    #expect(store.count(of: Leaf.self) == 2 && subscription != nil && snapshot == nil)
    _ = store.store(entity: Leaf(1, "new"))
    #expect(store.find(Leaf.self, id: 1)?.value.text == "new")
    subscription = nil
    #expect(store.inspect().entities.isEmpty && store.inspect().aliases.isEmpty)
  }

  @Test func `a store is released with its snapshots`() {
    weak var forgotten: EntityStore?
    var outliving: EntityObserver<(Leaf?, [Leaf])>?
    do {
      let store = makeStore()
      forgotten = store
      let held = store.store(entity: Leaf(1, "0"))
      outliving = store.snapshot(of: .entity(Leaf.self, id: 1), .query(Leaf.self))
      withExtendedLifetime(held) {}
    }
    #expect(forgotten == nil && outliving?.current.0 == Leaf(1, "0") && outliving?.current.1 == [Leaf(1, "0")])
    outliving = nil
  }

  @Test func `a subscription to a snapshot ends when the store is cleared`() async {
    let held = storePair("0")
    let (received, subscription) = follow()
    var values = pair().values.makeAsyncIterator()
    #expect(await values.next().map { Texts($0) } == Texts("0", "0"))
    store.clear()
    _ = store.store(entities: [Leaf(1, "second user")], named: .all)
    #expect(received.values == [Texts("0", "0")])
    #expect(await values.next() == nil)
    withExtendedLifetime((held, subscription)) {}
  }

  // MARK: Ways of following

  @Test func `a sequence of snapshots drops all but the newest pending one`() async {
    let held = storePair("0")
    var values = pair().values.makeAsyncIterator()
    #expect(await values.next().map { Texts($0) } == Texts("0", "0"))
    store.transaction { change(to: "1", in: $0) }
    store.transaction { change(to: "2", in: $0) }
    #expect(await values.next().map { Texts($0) } == Texts("2", "2"))
    withExtendedLifetime(held) {}
  }

  @Test func `a snapshot can be observed and paused and unsubscribed from like an entity`() {
    let held = storePair("0")
    let observed = pair().observed()
    let (received, subscription) = follow()
    subscription.pause()
    store.transaction { change(to: "1", in: $0) }
    subscription.resume()
    subscription.unsubscribe()
    store.transaction { change(to: "2", in: $0) }
    #expect(received.values == [Texts("0", "0"), Texts("1", "1")])
    #expect(Texts(observed.value) == Texts("2", "2"))
    withExtendedLifetime(held) {}
  }

  // MARK: Many threads

  @Test(.timeLimit(.minutes(15)))
  func `a snapshot never mixes transactions of several threads`() {
    for delivery in [Delivery.immediate, .serial, .queue(.global())] {
      let store = EntityStore(delivery: delivery)
      let (leaves, items) = ((0..<4).map { Leaf($0, "0") }, (0..<4).map { Item(id: $0, key: "0") })
      let held = (store.store(entities: leaves, named: .all), store.store(entities: items))
      let snapshot = store.snapshot(
        of: .alias(AliasKey<[Leaf]>.all), .entity(Leaf.self, id: 2), .entities(Item.self, ids: [3, 1]),
        .query(Item.self))
      let mixed = Received<[String?]>()
      let subscription = snapshot.observe { list, leaf, some, all in
        let texts = (list?.map(\.text) ?? []) + [leaf?.text] + some.map(\.key) + all.map(\.key)
        if Set(texts).count > 1 { mixed.append(texts) }
      }
      DispatchQueue.concurrentPerform(iterations: 8) { writer in
        for round in 0..<200 {
          let text = "\(writer) \(round)"
          store.transaction { store in
            for id in 0..<4 { store.update(Leaf.self, id: id) { $0.text = text } }
            _ = store.store(entities: (0..<4).map { Item(id: $0, key: text) })
          }
        }
      }
      #expect(mixed.values.isEmpty)
      withExtendedLifetime((held, subscription)) {}
    }
  }
}
