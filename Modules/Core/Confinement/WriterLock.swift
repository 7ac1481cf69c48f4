import Synchronization

/// The lock of a store's writers, for waits that may be long: a thread may hold it during a block of the program.
///
/// A running thread takes a free lock before a thread that sleeps, as with ``Lock``, so that short saves follow each
/// other at once. A thread that takes the lock again and again could therefore keep a sleeping thread waiting forever. So
/// after half a second a waiting thread takes the turn: until it has the lock, threads that come later wait behind it.
///
/// Not re-entrant.
package struct WriterLock: ~Copyable, Sendable {
  private let writing = Lock()
  /// Held by the thread that takes the lock next, while it waits.
  private let turn = Lock()
  /// Whether a thread holds the turn. Later threads read it before they try to take the lock.
  private let hasNext = Atomic<Bool>(false)
  /// The interval between two checks for a cancellation of the task.
  private let checkInterval: Duration
  /// The number of checks after which a waiting thread takes the turn.
  private let maximumChecks: Int

  /// Makes a free lock. Tests pass their own interval and number.
  package init(checkInterval: Duration = .milliseconds(50), maximumChecks: Int = 10) {
    self.checkInterval = checkInterval
    self.maximumChecks = maximumChecks
  }

  /// Whether a waiting thread has the turn. For tests.
  package var isTurnTaken: Bool { hasNext.load(ordering: .acquiring) }

  /// Takes the lock. The wait ends after the timeout, and at the latest 0.1 seconds after the task is cancelled.
  ///
  /// - Parameters:
  ///   - timeout: The longest wait; `nil` for no limit.
  ///   - name: The name of the store, for the error.
  /// - Throws: ``ErrorCode/storeBusy``, retryable, after the timeout; ``ErrorCode/cancelled``.
  package borrowing func lock(timeout: Duration?, of name: @autoclosure () -> String) throws {
    let deadline = timeout.map { ContinuousClock.now + $0 }
    var stage = Stage.entering
    defer { if stage == .next { endTurn() } }
    while true {
      let remaining = deadline.map { $0 - ContinuousClock.now } ?? checkInterval
      let interval = max(.zero, min(remaining, checkInterval))
      switch stage {
      case .entering:
        if isTurnTaken {
          guard turn.lock(within: interval) else { break }
          turn.unlock()
        }
        stage = .competing(checks: 0)
        continue
      case .competing(let checks):
        if writing.lock(within: interval) { return }
        stage = checks + 1 < maximumChecks ? .competing(checks: checks + 1) : .queueing
      case .queueing:
        if turn.lock(within: interval) {
          hasNext.store(true, ordering: .releasing)
          stage = .next
          continue
        }
      case .next:
        if writing.lock(within: interval) { return }
      }
      if Task.isCancelled {
        throw CoherenceError(.cancelled, "The task was cancelled while it waited for other writers of \(name()).")
      }
      if let deadline, ContinuousClock.now >= deadline {
        throw CoherenceError(
          .storeBusy,
          "Other writers of \(name()) took longer than the timeout of the lock; try again, or raise the timeout.",
          isRetryable: true)
      }
    }
  }

  /// Releases the lock. Called on the thread that took it.
  package borrowing func unlock() { writing.unlock() }

  private borrowing func endTurn() {
    hasNext.store(false, ordering: .releasing)
    turn.unlock()
  }

  /// The stages of a wait.
  private enum Stage: Equatable {
    /// Another thread may have the turn.
    case entering
    /// The first thread to try after a release takes the lock.
    case competing(checks: Int)
    /// The thread waits for the turn.
    case queueing
    /// The thread has the turn.
    case next
  }
}
