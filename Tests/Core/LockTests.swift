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
}
