import Dispatch
import Synchronization
import Testing
import ThreadSanitizerSupport

@Suite("Thread sanitizer", .enabled(if: thread_sanitizer_sees_mutexes()))
struct ThreadSanitizerTests {
  @Test func `data handed over by a contended mutex is no race`() {
    let sum = Mutex(0)
    let before = thread_sanitizer_contended_locks()
    var rounds = 0
    // As many rounds as it takes for two threads to meet in the mutex, which no interleaving can be made to show.
    while thread_sanitizer_contended_locks() == before {
      DispatchQueue.concurrentPerform(iterations: 2) { _ in
        for _ in 0..<1_000 { sum.withLock { $0 += 1 } }
      }
      rounds += 1
    }
    #expect(sum.withLock { $0 } == rounds * 2_000)
  }
}
