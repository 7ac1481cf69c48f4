import CoherenceRuntime
import Dispatch
import Foundation
import Synchronization

/// Whether the process serves the main queue.
enum MainQueue {
  private static let served = Atomic<Bool>(false)
  private static let watched = Atomic<Bool>(false)

  /// Whether a block or a job of the main queue was seen. A served queue that does not take up a block is busy and will
  /// continue.
  static var isServed: Bool { served.load(ordering: .relaxed) }
  static func noteServed() { served.store(true, ordering: .relaxed) }

  /// Starts to find out whether the queue is served, long before the first hop. The caller itself may prove it;
  /// otherwise a block dispatched into the queue does.
  static func watch() {
    if Confinement.isServedMain { return noteServed() }
    guard !isServed, !watched.exchange(true, ordering: .relaxed) else { return }
    DispatchQueue.main.async { noteServed() }
  }

  /// Whether the caller, which is on the main actor, is a part of a job or block after which the main queue runs the
  /// next one: a task, a block of the queue, or a callback of the main run loop. `false` for the plain statements of a
  /// program's start, which may never serve the queue.
  static var isReturnedTo: Bool {
    coherence_is_in_main_job() || !Thread.isMainThread || RunLoop.main.currentMode != nil
  }

  /// How long the main queue is waited for, in seconds.
  struct WaitLimits {
    /// The time until the log first says that the main queue is blocked. The interval doubles from then on.
    var warning = 10.0
    /// The time after which a queue that never ran a block counts as unserved.
    var limit = 30.0
  }
}

/// A block on its way to the main queue, and its result on the way back.
final class MainHop<T>: @unchecked Sendable {
  // Sendable: `state` decides which thread may touch `work` and `result`: the main thread after it moved the state from
  // waiting to running, the waiting thread after it was signalled.
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
    MainQueue.noteServed()
    let result = runWork()
    condition.lock()
    self.result = result
    condition.signal()
    condition.unlock()
  }

  /// The block's result. The block itself is released on return: the waiting thread, to which it belongs, may continue
  /// before the main queue releases this hop.
  private func runWork() -> Result<T, any Error>? {
    let work = work.take()
    return work?()
  }

  /// Waits without limit until the block ran, and logs from time to time that the main queue is blocked. Ends the
  /// process only if the main queue never ran a block or a job.
  func wait(limits: MainQueue.WaitLimits = .init(), noteBlocked: (_ seconds: Double) -> Void) -> Result<T, any Error> {
    condition.lock()
    defer { condition.unlock() }
    let start = Date.now
    var next = limits.warning
    while true {
      if let result { return result }
      guard state == .waiting else {
        condition.wait()
        continue
      }
      if condition.wait(until: start.addingTimeInterval(next)) || state != .waiting || result != nil { continue }
      if !MainQueue.isServed, next >= limits.limit { failUnserved(next) }
      // Logging may take long, and the main queue takes this lock to run the block.
      condition.unlock()
      noteBlocked(next)
      condition.lock()
      next = MainQueue.isServed ? next * 2 : min(next * 2, limits.limit)
    }
  }

  private func failUnserved(_ seconds: Double) -> Never {
    Misuse.fail(
      "`performAndWait` on a main-queue context waited \(Int(seconds)) seconds for a main queue that is never run. "
        + "Run the main queue (an asynchronous `main` does), or use a private-queue context.")
  }
}
