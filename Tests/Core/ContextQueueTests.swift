import Dispatch
import Foundation
import Synchronization
import Testing

@testable import CoherenceCore

/// The queue of a context, and the threads that contexts work on.
@Suite struct ContextQueueTests {
  /// Workers that neither time out nor end, so that their number is exact on a busy machine too.
  private static func pool(_ limit: Int) -> WorkerPool {
    WorkerPool(limit: limit, checkInterval: nil, idleTimeout: nil)
  }

  private static func contexts(_ count: Int, on pool: WorkerPool) -> [Confinement] {
    (0..<count).map { _ in Confinement(.privateQueue, pool: pool) }
  }

  // MARK: Threads

  @Test func `two hundred busy contexts use at most the pool's workers`() async {
    let pool = Self.pool(3)
    let threads = ThreadSet()
    await withTaskGroup(of: Void.self) { group in
      for context in Self.contexts(200, on: pool) {
        group.addTask {
          for _ in 0..<10 {
            await ConfinedTask(context).run { threads.note() }
          }
        }
      }
    }
    #expect(threads.count <= 3)
    #expect(pool.threadCount <= 3)
  }

  @Test func `performAndWait runs its block on the calling thread`() {
    let context = Confinement(.privateQueue, pool: Self.pool(1))
    let thread = context.owning { currentThread }
    #expect(thread == currentThread)
  }

  @Test func `performAndWait of an idle context needs no worker`() {
    let pool = Self.pool(1)
    let (blocked, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let contexts = Self.contexts(2, on: pool)
    contexts[0].submit {
      blocked.signal()
      gate.wait()
    }
    blocked.wait()
    contexts[1].owning {}
    gate.signal()
  }

  // MARK: Order

  @Test func `blocks of a context run one at a time, in the order of their submission`() {
    let context = Confinement(.privateQueue, pool: Self.pool(3))
    let numbers = Mutex<[Int]>([])
    let running = Atomic<Int>(0)
    for number in 0..<1_000 {
      context.submit {
        let count = running.add(1, ordering: .relaxed).newValue
        #expect(count == 1)
        numbers.withLock { $0.append(number) }
        running.subtract(1, ordering: .relaxed)
      }
    }
    context.owning {}
    let order = numbers.withLock { $0 }
    #expect(order == Array(0..<1_000))
  }

  @Test func `performAndWait runs after the blocks that the same thread submitted before`() {
    let pool = Self.pool(2)
    for context in Self.contexts(200, on: pool) {
      let isDone = Atomic<Bool>(false)
      context.submit { isDone.store(true, ordering: .relaxed) }
      let wasDone = context.owning { isDone.load(ordering: .relaxed) }
      #expect(wasDone)
    }
  }

  @Test func `a context with endless work does not starve the other contexts of a single worker`() {
    let pool = Self.pool(1)
    let (busy, other) = (Confinement(.privateQueue, pool: pool), Confinement(.privateQueue, pool: pool))
    let isOver = Atomic<Bool>(false)
    @Sendable func again() {
      if !isOver.load(ordering: .relaxed) { busy.submit(again) }
    }
    for _ in 0..<100 { busy.submit(again) }
    let done = DispatchSemaphore(value: 0)
    other.submit {
      isOver.store(true, ordering: .relaxed)
      done.signal()
    }
    done.wait()
  }

  @Test func `threads and blocks that use one context at random never overlap`() {
    let pool = Self.pool(2)
    let contexts = Self.contexts(3, on: pool)
    let sums = contexts.map { _ in Counter() }
    let blocks = DispatchGroup()
    DispatchQueue.concurrentPerform(iterations: 8) { seed in
      for round in 0..<500 {
        let index = (seed + round) % contexts.count
        let sum = sums[index]
        if (seed + round) % 2 == 0 {
          contexts[index].owning { sum.value += 1 }
        } else {
          blocks.enter()
          contexts[index].submit {
            sum.value += 1
            blocks.leave()
          }
        }
      }
    }
    blocks.wait()
    #expect(sums.map(\.value).reduce(0, +) == 4_000)
  }

  // MARK: Contexts that wait for each other

  @Test func `contexts that wait for other contexts finish, even with far more contexts than workers`() {
    let pool = Self.pool(2)
    let contexts = Self.contexts(40, on: pool)
    let done = DispatchSemaphore(value: 0)
    @Sendable func descend(_ depth: Int) {
      guard depth < contexts.count else {
        done.signal()
        return
      }
      // A block before the wait makes each context need a worker.
      contexts[depth].submit {}
      contexts[depth].owning { descend(depth + 1) }
    }
    contexts[0].submit { descend(1) }
    done.wait()
  }

  @Test func `two hundred contexts that wait for one context do not start a thread each`() {
    let pool = Self.pool(3)
    let parent = Confinement(.privateQueue, pool: pool)
    let children = DispatchGroup()
    let sum = Counter()
    for child in Self.contexts(200, on: pool) {
      children.enter()
      child.submit {
        parent.owning { sum.value += 1 }
        children.leave()
      }
    }
    children.wait()
    #expect(sum.value == 200)
    #expect(pool.threadCount <= 6)
  }

  @Test func `blocks that wait for each other outside of contexts get enough threads`() {
    // This test needs the pool's watch, so the pool has a tick.
    let pool = WorkerPool(limit: 2, checkInterval: .milliseconds(1))
    let arrived = DispatchGroup()
    let done = DispatchGroup()
    let contexts = Self.contexts(12, on: pool)
    for _ in contexts { arrived.enter() }
    for context in contexts {
      done.enter()
      context.submit {
        arrived.leave()
        arrived.wait()
        done.leave()
      }
    }
    done.wait()
  }

  // MARK: Threads without work

  /// Occupies one worker for each context at once. Each worker waits for an event from outside.
  private static func crowd(_ pool: WorkerPool, with contexts: [Confinement]) {
    let (begun, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    for context in contexts {
      context.submit {
        pool.waitingOutside {
          begun.signal()
          gate.wait()
        }
      }
    }
    for _ in contexts { begun.wait() }
    #expect(pool.threadCount >= contexts.count)
    for _ in contexts { gate.signal() }
  }

  @Test(.timeLimit(.minutes(15)))
  func `of sixty-four idle threads sixteen are kept for later work`() async {
    let pool = WorkerPool(limit: 2, checkInterval: nil, idleTimeout: nil)
    let contexts = Self.contexts(64, on: pool)
    for _ in 0..<20 {
      Self.crowd(pool, with: contexts)
      while !pool.isIdle, !Task.isCancelled { await Task.yield() }
      #expect(pool.threadCount == WorkerPool.maximumIdle)
    }
  }

  @Test(.timeLimit(.minutes(15))) func `threads end after some time without work, and later work starts new threads`()
    async
  {
    let pool = WorkerPool(limit: 2, checkInterval: nil, idleTimeout: .milliseconds(1))
    let contexts = Self.contexts(20, on: pool)
    for _ in 0..<20 {
      Self.crowd(pool, with: contexts)
      while pool.threadCount > 0, !Task.isCancelled { await Task.yield() }
      #expect(pool.threadCount == 0)
    }
  }

  @Test func `work submitted while an idle thread ends is executed`() {
    let pool = WorkerPool(limit: 2, checkInterval: nil, idleTimeout: .nanoseconds(1))
    let contexts = Self.contexts(3, on: pool)
    let done = DispatchSemaphore(value: 0)
    for round in 0..<2_000 {
      contexts[round % contexts.count].submit { done.signal() }
      done.wait()
    }
  }

  // MARK: Ends

  @Test func `the objects of a block are released before the next block runs`() {
    let context = Confinement(.privateQueue, pool: Self.pool(1))
    let isGone = Atomic<Bool>(false)
    let gate = DispatchSemaphore(value: 0)
    context.submit { gate.wait() }
    do {
      let witness = Witness { isGone.store(true, ordering: .relaxed) }
      context.submit { withExtendedLifetime(witness) {} }
    }
    gate.signal()
    let wasGone = context.owning { isGone.load(ordering: .relaxed) }
    #expect(wasGone)
  }
}

/// An actor that lives on a confinement, as `perform` makes one.
private actor ConfinedTask {
  private let confinement: Confinement
  nonisolated var unownedExecutor: UnownedSerialExecutor { confinement.asUnownedSerialExecutor() }

  init(_ confinement: Confinement) { self.confinement = confinement }

  func run(_ body: @Sendable () -> Void) { body() }
}

/// Collects the threads that run blocks.
private final class ThreadSet: Sendable {
  private let threads = Mutex<Set<UInt>>([])
  var count: Int { threads.withLock { $0.count } }
  func note() { threads.withLock { _ = $0.insert(currentThread) } }
}

/// A number that nothing protects but the context in which it is used.
private final class Counter: @unchecked Sendable {
  // Sendable: used in one context only, as this test verifies.
  var value = 0
}

private final class Witness: Sendable {
  private let onEnd: @Sendable () -> Void
  init(_ onEnd: @escaping @Sendable () -> Void) { self.onEnd = onEnd }
  deinit { onEnd() }
}
