import Dispatch
import Synchronization
import Testing

@testable import CoherenceCore

/// The number of threads of a pool, which knows after each wait whether the waiting worker works again.
@Suite struct WorkerCountTests {
  /// A pool without checks, whose workers never end, so that its number of threads is exact.
  private static func pool(_ limit: Int, maximum: Int = 64) -> WorkerPool {
    WorkerPool(limit: limit, maximum: maximum, checkInterval: nil, idleTimeout: nil)
  }

  /// Has a worker wait in a context, and returns after the wait has begun.
  private static func occupy(_ pool: WorkerPool, until gate: DispatchSemaphore, isOutside: Bool) {
    let context = Confinement(.privateQueue, pool: pool)
    let begun = DispatchSemaphore(value: 0)
    context.submit {
      guard isOutside else {
        begun.signal()
        gate.wait()
        return
      }
      pool.waitingOutside {
        begun.signal()
        gate.wait()
      }
    }
    begun.wait()
  }

  @Test(arguments: [3, 4])
  func `workers that wait for a server are replaced up to the greatest number of threads`(maximum: Int) {
    let pool = Self.pool(2, maximum: maximum)
    let (gate, done) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    for isOutside in [true, true, false] { Self.occupy(pool, until: gate, isOutside: isOutside) }
    #expect(pool.threadCount == 3)
    let context = Confinement(.privateQueue, pool: pool)
    context.submit { done.signal() }
    #expect(pool.threadCount == maximum)
    for _ in 0..<3 { gate.signal() }
    done.wait()
  }

  @Test func `without an active worker a pool exceeds its greatest number of threads`() {
    let pool = Self.pool(1, maximum: 1)
    let gate = DispatchSemaphore(value: 0)
    for _ in 0..<3 { Self.occupy(pool, until: gate, isOutside: true) }
    #expect(pool.threadCount == 3)
    for _ in 0..<3 { gate.signal() }
  }

  @Test func `a pool has as many active workers as its limit, also with a smaller greatest number`() {
    let pool = Self.pool(2, maximum: 1)
    let (gate, done) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    Self.occupy(pool, until: gate, isOutside: false)
    let contexts = (0..<2).map { _ in Confinement(.privateQueue, pool: pool) }
    for context in contexts { context.submit { done.signal() } }
    #expect(pool.threadCount == 2)
    gate.signal()
    for _ in contexts { done.wait() }
  }

  @Test func `a worker is active again after each kind of wait, also after nested waits`() {
    let pool = Self.pool(1)
    let (begun, gate, done) = (
      DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
    )
    let (busy, other) = (Confinement(.privateQueue, pool: pool), Confinement(.privateQueue, pool: pool))
    busy.submit {
      pool.waitingOutside {}
      pool.waitingOutside { pool.waitingOutside {} }
      pool.blocking {}
      pool.blocking { pool.waitingOutside {} }
      pool.waitingOutside { pool.blocking {} }
      pool.hopping({}, {})
      begun.signal()
      gate.wait()
    }
    begun.wait()
    // A second thread would start if the worker did not count, or if it counted as waiting for a server.
    other.submit { done.signal() }
    #expect(pool.threadCount == 1)
    #expect(pool.hopCount == 0)
    gate.signal()
    done.wait()
  }

  @Test func `a worker that waits in its block is replaced by one worker`() {
    let pool = Self.pool(1)
    let (begun, gate, done) = (
      DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
    )
    let contexts = (0..<3).map { _ in Confinement(.privateQueue, pool: pool) }
    contexts[0].submit {
      pool.blocking {
        begun.signal()
        gate.wait()
      }
    }
    begun.wait()
    for context in contexts[1...] { context.submit { done.signal() } }
    for _ in contexts[1...] { done.wait() }
    #expect(pool.threadCount == 2)
    gate.signal()
  }

  @Test func `all workers that are stuck at a check are replaced by that check, up to the limit`() {
    // The check comes after both contexts are queued.
    let pool = WorkerPool(limit: 2, maximum: 4, checkInterval: .milliseconds(50), idleTimeout: nil)
    let (gate, done) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    for _ in 0..<2 { Self.occupy(pool, until: gate, isOutside: false) }
    // Each context waits until the other one runs.
    let (first, second) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let contexts = (0..<2).map { _ in Confinement(.privateQueue, pool: pool) }
    contexts[0].submit {
      first.signal()
      second.wait()
      done.signal()
    }
    contexts[1].submit {
      second.signal()
      first.wait()
      done.signal()
    }
    for _ in contexts { done.wait() }
    #expect(pool.threadCount == 4)
    for _ in 0..<2 { gate.signal() }
  }

  @Test func `the context that a thread waits for runs before contexts that became ready earlier`() {
    let pool = Self.pool(1)
    let (waiting, early, late) = (
      Confinement(.privateQueue, pool: pool), Confinement(.privateQueue, pool: pool),
      Confinement(.privateQueue, pool: pool)
    )
    let order = Mutex<[String]>([])
    let done = DispatchSemaphore(value: 0)
    waiting.submit {
      early.submit {
        order.withLock { $0.append("early") }
        done.signal()
      }
      late.submit { order.withLock { $0.append("late") } }
      late.owning { order.withLock { $0.append("owner") } }
      done.signal()
    }
    for _ in 0..<2 { done.wait() }
    let names = order.withLock { $0 }
    #expect(names.first == "late")
    #expect(names.count == 3)
  }
}
