#if canImport(Combine)
  import Combine
#elseif OpenCombine
  import OpenCombine
#endif

#if canImport(Combine) || OpenCombine
  import CoherenceIdentityMap
  import Testing

  @Suite("Faults: publishers")
  struct PublisherFaultTests {
    private let store = makeStore()

    @Test func `fault 13: each value that a stream stores has its own stamp`() {
      let source = PassthroughSubject<Leaf, Never>()
      let received = Received<Leaf>()
      var stamp = 0.0
      func next() -> Stamp {
        stamp += 1
        return stamp
      }
      let cancellable = source.store(in: store, modifiedAt: next()).sink { received.append($0) }
      source.send(Leaf(1, "a"))
      source.send(Leaf(1, "b"))
      source.send(Leaf(2, "c"))
      #expect(received.values.last == Leaf(2, "c") && received.values.contains(Leaf(1, "b")))
      cancellable.cancel()
    }

    @Test func `fault 14: when one of two subscribers of a publisher cancels, the other still receives changes`() {
      let received = Received<Leaf>()
      let publisher = store.store(entity: Leaf(1)).asPublisher
      let first = publisher.sink { _ in }
      let second = publisher.sink { received.append($0) }
      first.cancel()
      _ = store.store(entity: Leaf(1, "new"))
      #expect(received.values == [Leaf(1), Leaf(1, "new")])
      second.cancel()
    }
  }
#endif
