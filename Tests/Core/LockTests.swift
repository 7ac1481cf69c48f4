import Dispatch
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

  /// A lock for several threads.
  private final class SharedLock: Sendable {
    let lock = Lock()
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
      withUnsafeCurrentTask { $0?.cancel() }
      shared.lock.withLock {
        let error = #expect(throws: CoherenceError.self) { try shared.lock.lock(timeout: .zero, of: "the store") }
        #expect(error?.code == .cancelled)
        #expect(error?.message.contains("the store") == true)
      }
    }.value
  }
}
