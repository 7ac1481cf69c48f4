import Dispatch
import Foundation
import Testing

@testable import CoherenceCore

@Suite struct LockTests {
  @Test func `threads far more than processors share a locked value`() {
    let sum = Locked(0)
    DispatchQueue.concurrentPerform(iterations: 64) { _ in
      for _ in 0..<2_000 { sum.withLock { $0 += 1 } }
    }
    #expect(sum.withLock { $0 } == 128_000)
  }

  @Test func `a block that throws gives the lock back`() {
    let value = Locked(1)
    struct Failure: Error {}
    #expect(throws: Failure.self) { try value.withLock { _ in throw Failure() } }
    #expect(value.withLock { $0 } == 1)
  }

  /// A lock of writers for several threads.
  private final class SharedLock: Sendable {
    let lock: WriterLock

    init(checkInterval: Duration = .milliseconds(50), maximumChecks: Int = 10) {
      lock = WriterLock(checkInterval: checkInterval, maximumChecks: maximumChecks)
    }
  }

  @Test func `a writer that does not wait takes a free lock, and gets a retryable error while another writer has it`()
    throws
  {
    let shared = SharedLock()
    try shared.lock.lock(timeout: .zero, of: "the store")
    let error = #expect(throws: CoherenceError.self) { try shared.lock.lock(timeout: .zero, of: "the store") }
    #expect(error?.code == .storeBusy)
    #expect(error?.isRetryable == true)
    #expect(error?.message.contains("the store") == true)
    shared.lock.unlock()
    try shared.lock.lock(timeout: nil, of: "the store")
    shared.lock.unlock()
  }

  @Test func `a cancelled writer that meets a taken lock reports the cancellation`() async {
    let shared = SharedLock()
    await Task {
      try? shared.lock.lock(timeout: .zero, of: "the store")
      withUnsafeCurrentTask { $0?.cancel() }
      let error = #expect(throws: CoherenceError.self) { try shared.lock.lock(timeout: .zero, of: "the store") }
      #expect(error?.code == .cancelled)
      #expect(error?.message.contains("the store") == true)
      shared.lock.unlock()
    }.value
  }

  @Test func `a writer that has waited for long has its turn before a writer that takes the lock again and again`()
    throws
  {
    let shared = SharedLock(checkInterval: .milliseconds(1), maximumChecks: 1)
    let order = Locked<[String]>([])
    let hasEnded = DispatchSemaphore(value: 0)
    try shared.lock.lock(timeout: nil, of: "the store")
    Thread.detachNewThread {
      if (try? shared.lock.lock(timeout: nil, of: "the store")) != nil {
        order.withLock { $0.append("waiting") }
        shared.lock.unlock()
      }
      hasEnded.signal()
    }
    while !shared.lock.isTurnTaken { sched_yield() }
    shared.lock.unlock()
    try shared.lock.lock(timeout: nil, of: "the store")
    order.withLock { $0.append("repeating") }
    shared.lock.unlock()
    hasEnded.wait()
    #expect(order.withLock { $0 } == ["waiting", "repeating"])
  }

  @Test func `a writer that gives up with its turn lets others take the lock`() throws {
    let shared = SharedLock(checkInterval: .milliseconds(1), maximumChecks: 1)
    let code = Locked<ErrorCode?>(nil)
    let hasEnded = DispatchSemaphore(value: 0)
    try shared.lock.lock(timeout: nil, of: "the store")
    Thread.detachNewThread {
      do { try shared.lock.lock(timeout: .milliseconds(200), of: "the store") } catch {
        code.withLock { $0 = (error as? CoherenceError)?.code }
      }
      hasEnded.signal()
    }
    // On a busy machine the turn may pass unseen.
    while !shared.lock.isTurnTaken, code.withLock({ $0 == nil }) { sched_yield() }
    hasEnded.wait()
    #expect(code.withLock { $0 } == .storeBusy)
    let isTurnTaken = shared.lock.isTurnTaken
    #expect(!isTurnTaken)
    shared.lock.unlock()
    try shared.lock.lock(timeout: .zero, of: "the store")
    shared.lock.unlock()
  }
}
