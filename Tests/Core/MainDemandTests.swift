import Synchronization
import Testing

@testable import CoherenceCore

/// The calls of an owner's work that wait for the main actor, and the callers that watch them.
@Suite struct MainDemandTests {
  private final class Owner: Sendable {}

  /// Counts the notifications of a watch.
  private final class Counter: Sendable {
    private let notes = Atomic<Int>(0)
    var count: Int { notes.load(ordering: .relaxed) }
    func note() { notes.add(1, ordering: .relaxed) }
  }

  private let owner = Owner()

  private func beginWait(of owner: Owner) -> MainDemand.Wait { MainDemand.working(for: owner) { MainDemand.begin() } }

  @Test func `a watch is notified when work of its owner begins to wait, until the watch ends`() {
    let (counter, other) = (Counter(), Counter())
    let watch = MainDemand.watch(owner) { counter.note() }
    let otherOwner = Owner()
    let otherWatch = MainDemand.watch(otherOwner) { other.note() }
    #expect(counter.count == 0)
    beginWait(of: owner).end()
    #expect(counter.count == 1)
    beginWait(of: owner).end()
    #expect(counter.count == 2)
    watch.end()
    beginWait(of: owner).end()
    #expect(counter.count == 2)
    #expect(other.count == 0)
    otherWatch.end()
    withExtendedLifetime(otherOwner) {}
  }

  @Test func `a watch is notified at once while work of its owner waits`() {
    func notesAtOnce() -> Int {
      let counter = Counter()
      MainDemand.watch(owner) { counter.note() }.end()
      return counter.count
    }
    let waits = (0..<2).map { _ in beginWait(of: owner) }
    #expect(notesAtOnce() == 1)
    waits[0].end()
    #expect(notesAtOnce() == 1)
    waits[1].end()
    #expect(notesAtOnce() == 0)
  }

  @Test func `the end of one watch leaves the other watches of the owner`() {
    let counters = (0..<2).map { _ in Counter() }
    let watches = counters.map { counter in MainDemand.watch(owner) { counter.note() } }
    watches[0].end()
    beginWait(of: owner).end()
    #expect(counters.map(\.count) == [0, 1])
    watches[1].end()
  }

  @Test func `work without an owner notifies no watch`() {
    let counter = Counter()
    let watch = MainDemand.watch(owner) { counter.note() }
    MainDemand.begin().end()
    #expect(counter.count == 0)
    watch.end()
  }

  @Test func `asynchronous work has its owner after a suspension too`() async {
    let counter = Counter()
    let watch = MainDemand.watch(owner) { counter.note() }
    await MainDemand.working(for: owner) {
      await Task.yield()
      MainDemand.begin().end()
    }
    #expect(counter.count == 1)
    watch.end()
  }
}
