import CoherenceCore
import Synchronization
import Testing

@Suite struct SignalHubTests {
  /// A source that a test starts and stops.
  private final class Source: SignalSource {
    let isStopped = Atomic<Bool>(false)
    let hasBegun = Atomic<Bool>(false)
    var isListening: Bool { hasBegun.load(ordering: .relaxed) }
    func stop() { isStopped.store(true, ordering: .relaxed) }
  }

  @Test func `a source runs from the first listener to the last`() throws {
    let hub = SignalHub()
    let sources = Mutex<[Source]>([])
    func listen() -> SignalListening {
      hub.listen(to: "jobs", {}) {
        let source = Source()
        sources.withLock { $0.append(source) }
        return source
      }
    }
    func stops() -> [Bool] { sources.withLock { $0.map { $0.isStopped.load(ordering: .relaxed) } } }

    let first = listen()
    let second = listen()
    #expect(stops() == [false])
    first.cancel()
    #expect(stops() == [false])
    second.cancel()
    #expect(stops() == [true])
    let third = listen()
    #expect(stops() == [true, false])
    hub.close()
    #expect(stops() == [true, true])
    withExtendedLifetime(third) {}
  }

  @Test func `a listener is called when its source listens, and not before`() throws {
    let hub = SignalHub()
    let source = Source()
    let calls = Atomic<Int>(0)
    let early = hub.listen(to: "jobs", { calls.add(1, ordering: .relaxed) }) { source }
    #expect(calls.load(ordering: .relaxed) == 0)
    source.hasBegun.store(true, ordering: .relaxed)
    hub.signalAll()
    #expect(calls.load(ordering: .relaxed) == 1)
    let late = hub.listen(to: "jobs", { calls.add(1, ordering: .relaxed) }) { source }
    #expect(calls.load(ordering: .relaxed) == 2)
    withExtendedLifetime((early, late)) {}
  }

  @Test func `a closed hub calls no listener`() throws {
    let hub = SignalHub()
    let calls = Atomic<Int>(0)
    let former = hub.listen(to: "jobs", { calls.add(1, ordering: .relaxed) })
    hub.close()
    let later = hub.listen(to: "jobs", { calls.add(1, ordering: .relaxed) })
    hub.signal("jobs")
    #expect(calls.load(ordering: .relaxed) == 1)
    withExtendedLifetime((former, later)) {}
  }
}
