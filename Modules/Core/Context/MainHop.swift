import Foundation
import Synchronization

/// What is known of the main queue.
private enum MainQueue {
  /// Whether it has ever taken up a block: then it is busy when it does not, and comes back.
  static let isServed = Atomic<Bool>(false)
}

/// A block on its way to the main queue, and its result on the way back.
final class MainHop<T>: @unchecked Sendable {
  // Sendable: `state` decides who may touch `work` and `result`: the main thread after it moved the state from waiting
  // to running, the waiting thread after it was signalled.
  private enum State { case waiting, running }
  private let condition = NSCondition()
  private var state = State.waiting
  private var work: (() -> Result<T, any Error>)?
  private var result: Result<T, any Error>?

  init(work: @escaping () -> Result<T, any Error>) { self.work = work }

  func run() {
    condition.lock()
    guard state == .waiting else { return condition.unlock() }
    state = .running
    condition.unlock()
    MainQueue.isServed.store(true, ordering: .relaxed)
    let result = workedOff()
    condition.lock()
    self.result = result
    condition.signal()
    condition.unlock()
  }

  /// What the block answers. The block itself is gone afterwards: the waiting thread, to which it belongs, may go on before
  /// the main queue has let go of this hop.
  private func workedOff() -> Result<T, any Error>? {
    let work = work.take()
    return work?()
  }

  /// Waits until the block ran. Only its start is bounded, and only until the main queue has been seen to be served.
  func wait() -> Result<T, any Error> {
    condition.lock()
    defer { condition.unlock() }
    let deadline = Date(timeIntervalSinceNow: 10)
    while true {
      if let result { return result }
      if isSureToRun { condition.wait() } else if !condition.wait(until: deadline), !isSureToRun { failUnserved() }
    }
  }

  private var isSureToRun: Bool { state == .running || MainQueue.isServed.load(ordering: .relaxed) }

  private func failUnserved() -> Never {
    Misuse.fail(
      "`performAndWait` on a main-queue context waited ten seconds for a main queue that nobody serves. "
        + "Run the main queue (an asynchronous `main` does), or use a private-queue context.")
  }
}
