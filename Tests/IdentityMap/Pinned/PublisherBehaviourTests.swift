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
      let told = Told<Leaf>()
      let cancellable = store.store(entity: Leaf(1)).asPublisher.sink { told.append($0) }
      #expect(told.values == [Leaf(1)])
      cancellable.cancel()
    }

    @Test func `a later change reaches the subscriber`() {
      let told = Told<Leaf>()
      let cancellable = store.store(entity: Leaf(1)).asPublisher.sink { told.append($0) }
      _ = store.store(entity: Leaf(1, "new"))
      #expect(told.values == [Leaf(1), Leaf(1, "new")])
      cancellable.cancel()
    }

    @Test func `a subscriber that has cancelled receives nothing and keeps nothing`() {
      let told = Told<Leaf>()
      let cancellable = store.store(entity: Leaf(1)).asPublisher.sink { told.append($0) }
      cancellable.cancel()
      #expect(store.find(Leaf.self, id: 1) == nil)
      _ = store.store(entity: Leaf(1, "new"))
      #expect(told.values == [Leaf(1)])
    }
  }
#endif
