import Dispatch
import Synchronization
import Testing

@testable import CoherenceActions

@Suite("The queue of callbacks", .timeLimit(.minutes(15)))
struct CallbackQueueTests {
  /// The scheduled checks of a queue, which a test runs itself.
  private final class Looks: Sendable {
    private let due = Mutex<[CallbackQueue.Block]>([])
    var count: Int { due.withLock { $0.count } }
    func add(_ look: @escaping CallbackQueue.Block) { due.withLock { $0.append(look) } }

    func callAll() {
      let due = due.withLock { due in
        defer { due = [] }
        return due
      }
      for look in due { look() }
    }
  }

  /// A block that records its start and waits for a release.
  private final class Blocker: Sendable {
    private let begun = DispatchSemaphore(value: 0)
    private let gate = DispatchSemaphore(value: 0)
    func block() {
      begun.signal()
      gate.wait()
    }
    func untilBegun() { begun.wait() }
    func release() { gate.signal() }
  }

  private let looks = Looks()

  private func queue(width: Int) -> CallbackQueue {
    CallbackQueue(name: "test", width: width) { [looks] in looks.add($0) }
  }

  @Test func `blocks that return at once share one thread and keep their order`() {
    let queue = queue(width: 8)
    let numbers = Mutex<[Int]>([])
    let done = DispatchSemaphore(value: 0)
    for number in 0..<1_000 { queue.add { numbers.withLock { $0.append(number) } } }
    queue.add { done.signal() }
    done.wait()
    let order = numbers.withLock { $0 }
    #expect(order == Array(0..<1_000))
    #expect(queue.laneCount == 1)
  }

  @Test func `a block behind a blocked block begins after a check that finds no progress`() {
    let queue = queue(width: 8)
    let blockers = [Blocker(), Blocker()]
    for blocker in blockers { queue.add { blocker.block() } }
    blockers[0].untilBegun()
    // The first check may see the start of the blocked block; the second finds no start.
    looks.callAll()
    looks.callAll()
    blockers[1].untilBegun()
    #expect(queue.laneCount == 2)
    for blocker in blockers { blocker.release() }
  }

  @Test func `a check that finds progress wakes no other thread`() {
    let queue = queue(width: 8)
    let blockers = [Blocker(), Blocker(), Blocker()]
    queue.add { blockers[0].block() }
    blockers[0].untilBegun()
    for blocker in blockers[1...] { queue.add { blocker.block() } }
    blockers[0].release()
    blockers[1].untilBegun()
    looks.callAll()
    #expect(queue.laneCount == 1)
    looks.callAll()
    blockers[2].untilBegun()
    #expect(queue.laneCount == 2)
    for blocker in blockers[1...] { blocker.release() }
  }

  @Test func `the width limits the blocks at work, and the next block begins when a block returns`() {
    let queue = queue(width: 2)
    let blockers = [Blocker(), Blocker(), Blocker()]
    for blocker in blockers { queue.add { blocker.block() } }
    blockers[0].untilBegun()
    looks.callAll()
    looks.callAll()
    blockers[1].untilBegun()
    looks.callAll()
    #expect(looks.count == 0)
    #expect(queue.laneCount == 2)
    blockers[1].release()
    blockers[2].untilBegun()
    #expect(queue.laneCount == 2)
    blockers[0].release()
    blockers[2].release()
  }
}
