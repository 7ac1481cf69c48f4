import CoherenceRuntime
import Dispatch
import Foundation
import Synchronization

/// Whether the process runs the main queue. A program without an asynchronous `main`, run loop or `dispatchMain()` does
/// not, and a wait for its main queue would never end.
enum MainQueue {
  private static let served = Atomic<Bool>(false)
  private static let watched = Atomic<Bool>(false)

  /// Whether the main queue has run a block or a job so far. A wait for a served queue ends at some time, because the
  /// queue is only busy.
  static var isServed: Bool { served.load(ordering: .relaxed) }
  /// Notes that the caller runs on the main queue.
  static func noteServed() { served.store(true, ordering: .relaxed) }

  /// Starts to find out whether the process runs the main queue, long before the first hop. A caller that runs as a job
  /// or block of the queue proves it; otherwise a block dispatched to the queue proves it once the block runs.
  static func watch() {
    if Confinement.isRunByMainQueue { return noteServed() }
    guard !isServed, !watched.exchange(true, ordering: .relaxed) else { return }
    DispatchQueue.main.async { noteServed() }
  }

  /// Whether the main queue runs further blocks after the caller, which is on the main actor: after a task, a block of
  /// the queue, which may be on another thread after `dispatchMain()`, or a callback of the main run loop. `false` for
  /// the top-level statements of a program, which may never run the queue.
  static var continuesAfterCaller: Bool {
    coherence_is_in_main_job() || !Thread.isMainThread || RunLoop.main.currentMode != nil
  }

  /// The limits of a wait for the main queue, in seconds.
  struct WaitLimits {
    /// The time until the first log message about a blocked main queue. The interval doubles after each message.
    var warning = 10.0
    /// The time after which the process ends if the main queue has never run a block.
    var limit = 30.0
  }
}

/// A block that a thread sends to the main queue, and whose result the thread waits for: a `performAndWait` on a
/// main-queue context, off the main actor.
final class MainHop<T>: @unchecked Sendable {
  // Sendable: `state` decides which thread may touch `work` and `result`: the main thread after it moved the state from
  // waiting to running, the waiting thread after it was signalled.
  private enum State { case waiting, running }
  private let condition = NSCondition()
  private var state = State.waiting
  private var work: (() -> Result<T, any Error>)?
  private var result: Result<T, any Error>?

  init(work: @escaping () -> Result<T, any Error>) { self.work = work }

  /// Runs the block on the main thread. A second call does nothing: the main queue calls the function, and so does a
  /// main actor that waits for the block's thread.
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

  /// Runs the block, and releases it before the return: the block belongs to the waiting thread, which may continue
  /// before the main queue releases this hop.
  private func runWork() -> Result<T, any Error>? {
    let work = work.take()
    return work?()
  }

  /// Waits without limit until the block ran, and logs from time to time that the main queue is blocked. Ends the
  /// process only if the main queue never ran a block or a job.
  ///
  /// - Parameters:
  ///   - limits: The limits for a block that has not begun. A running block has no limit.
  ///   - noteBlocked: Logs that the main queue has been blocked for a number of seconds.
  ///   - elapsed: Returns the time since the start of the wait; another clock in tests.
  func wait(
    limits: MainQueue.WaitLimits = .init(), noteBlocked: (_ seconds: Double) -> Void,
    elapsed: (_ start: SuspendingClock.Instant) -> Duration = { SuspendingClock.now - $0 }
  ) -> Result<T, any Error> {
    condition.lock()
    defer { condition.unlock() }
    let start = SuspendingClock.now
    // The time of the next log message, in seconds since the start.
    var next = limits.warning
    while true {
      if let result { return result }
      guard state == .waiting else {
        condition.wait()
        continue
      }
      // A condition waits for a date, which comes early when the system's clock is set forward, as at the start of a
      // machine. The clock of the wait decides.
      let passed = elapsed(start) / .seconds(1)
      if passed < next {
        _ = condition.wait(until: Date(timeIntervalSinceNow: next - passed))
        continue
      }
      if !MainQueue.isServed, next >= limits.limit { failUnserved(next) }
      // The lock is released during the logging, which may take long: the main queue takes the lock to run the block.
      condition.unlock()
      noteBlocked(next)
      condition.lock()
      next = MainQueue.isServed ? next * 2 : min(next * 2, limits.limit)
    }
  }

  /// Ends the process, because the block would never run.
  private func failUnserved(_ seconds: Double) -> Never {
    Misuse.fail(
      "`performAndWait` on a main-queue context waited \(Int(seconds)) seconds for a main queue that is never run. "
        + "Run the main queue (an asynchronous `main` does), or use a private-queue context.")
  }
}
