#if canImport(Combine)
  import Combine
#elseif OpenCombine
  import OpenCombine
#endif

#if canImport(Combine) || OpenCombine
  import CoherenceIdentityMap
  import Testing

  @Suite("Pinned: publishers")
  struct PublisherBehaviourTests {
    private let store = makeStore()

    @Test func `subscribing delivers the current value exactly once and at once`() {
      let received = Received<Leaf>()
      let cancellable = store.store(entity: Leaf(1)).asPublisher.sink { received.append($0) }
      #expect(received.values == [Leaf(1)])
      cancellable.cancel()
    }

    @Test func `a later change reaches the subscriber`() {
      let received = Received<Leaf>()
      let cancellable = store.store(entity: Leaf(1)).asPublisher.sink { received.append($0) }
      _ = store.store(entity: Leaf(1, "new"))
      #expect(received.values == [Leaf(1), Leaf(1, "new")])
      cancellable.cancel()
    }

    @Test func `a subscriber of a snapshot receives all of a transaction at once`() {
      let held = store.store(entities: [Leaf(1, "0"), Leaf(2, "0")])
      let received = Received<[String?]>()
      let snapshot = store.snapshot(of: .entity(Leaf.self, id: 1), .entity(Leaf.self, id: 2))
      let cancellable = snapshot.asPublisher.sink { received.append([$0.0?.text, $0.1?.text]) }
      store.transaction { store in
        store.update(Leaf.self, id: 1) { $0.text = "1" }
        store.update(Leaf.self, id: 2) { $0.text = "1" }
      }
      #expect(received.values == [["0", "0"], ["1", "1"]])
      cancellable.cancel()
      withExtendedLifetime(held) {}
    }

    @Test func `a cancelled subscriber receives nothing and retains nothing`() {
      let received = Received<Leaf>()
      let cancellable = store.store(entity: Leaf(1)).asPublisher.sink { received.append($0) }
      cancellable.cancel()
      #expect(store.find(Leaf.self, id: 1) == nil)
      _ = store.store(entity: Leaf(1, "new"))
      #expect(received.values == [Leaf(1)])
    }
  }
#endif
