import CoherenceCore
import Foundation
import Synchronization

/// The attempts of an action and its end.
extension AnyActionHandle {
  /// Runs an attempt, unless the action was cancelled or has expired.
  ///
  /// - Returns: The execution time in nanoseconds; `nil` when the attempt continues in a task, which notifies the queue
  ///   at its end.
  func run(inLane lane: Int) -> UInt64? {
    guard let claim = lifecycle.withLock({ $0.claim(toRun: true) }) else {
      // The caller that cancels the action finishes it, after a call of the program's `cancel`, which may take long. Until
      // then the action belongs to its queue without a slot.
      queue.hold(self, for: .cancellation)
      queue.releaseSlot(of: self)
      return 0
    }
    if claim == .first {
      scheduler.didStart(self)
      if let timeout = resolvedOptions?.options.timeout { startTimeout(timeout) }
    }
    return attempt(inLane: lane)
  }

  /// Keeps the task of an asynchronous attempt, and cancels it if the action was cancelled or has expired by then.
  ///
  /// - Parameter attempt: The number of the attempt. The task may have ended before this call, and a later attempt may
  ///   have begun, whose task the action keeps.
  func didStart(_ task: Task<Void, Never>, ofAttempt attempt: Int) {
    let isCanceledOrExpired = lifecycle.withLock { lifecycle in
      if lifecycle.state == .executing, lifecycle.attempts == attempt { lifecycle.task = task }
      return lifecycle.isCanceledOrExpired
    }
    if isCanceledOrExpired { task.cancel() }
  }

  /// Ends an attempt: prepares the next one, or finishes the action.
  func endAttempt(throwing error: (any Error)?) {
    if let error, let delay = delayOfNextAttempt(after: error) {
      prepareNextAttempt(after: delay)
    } else {
      finish(throwing: error, laneContinues: true)
    }
  }

  /// - Parameter laneContinues: Whether the lane of the action looks for its next action after this call. The lane may
  ///   have looked before a caller that cancels the action finishes it.
  private func finish(throwing error: (any Error)?, laneContinues: Bool) {
    let finish = lifecycle.withLock { $0.finish(throwing: error) }
    for timer in finish.timers { timer.cancel() }
    finish.progress?.finish()
    scheduler.didFinish(self, completions: finish.completions, laneContinues: laneContinues)
    for observer in finish.observers { observer() }
    for waiter in finish.waiters { waiter.resume(with: .success(())) }
  }

  /// Finishes a pending action without another attempt. Its events are the same as those of an action that ran.
  private func finishIfPending(throwing error: (any Error)? = nil) {
    guard let claim = lifecycle.withLock({ $0.claim(toRun: false) }) else { return }
    scheduler.withdraw(self)
    if claim == .first { scheduler.didStart(self) }
    finish(throwing: error, laneContinues: false)
  }

  /// Fails a pending action without another attempt. Does nothing for a cancelled or expired action.
  func fail(_ error: CoherenceError) {
    if !isCanceledOrExpired { finishIfPending(throwing: error) }
  }

  // MARK: Cancellation

  /// The second step of a cancellation, which calls code of the program and therefore runs without locks.
  struct Cancellation {
    fileprivate let notifiesAction: Bool
    fileprivate let finishesPending: Bool
  }

  /// Marks the action as cancelled: a pending action does not begin any more.
  func markCanceled() -> Cancellation { mark { $0.cancel() } }

  /// Marks the action as cancelled because an equal action replaces it.
  func markReplaced() -> Cancellation { mark { $0.replace() } }

  private func mark(_ cancel: (inout LifecycleState<ActionCompletion>) -> Bool) -> Cancellation {
    lifecycle.withLock { lifecycle in
      let wasCanceledOrFinished = lifecycle.status == .canceled || lifecycle.state == .finished
      return Cancellation(notifiesAction: cancel(&lifecycle), finishesPending: !wasCanceledOrFinished)
    }
  }

  /// Notifies a cancelled action, and finishes it if it is pending.
  func complete(_ cancellation: Cancellation) {
    if cancellation.notifiesAction { notifyAction() }
    if cancellation.finishesPending { finishIfPending() }
  }

  /// Calls `cancel` of the action, and cancels its task and its progress.
  private func notifyAction() {
    // As a part of the action: a wait inside of `cancel` is checked for deadlock.
    Self.$executing.withValue(self) { action.cancel() }
    let (task, progress) = lifecycle.withLock { ($0.task, $0.progress) }
    task?.cancel()
    progress?.cancelOnlyProgress()
  }

  // MARK: Timeout

  private func startTimeout(_ timeout: Duration) {
    let timer = scheduler.after(timeout) { [weak self] in self?.expire() }
    lifecycle.withLock { $0.keep(timeoutTimer: timer) }
  }

  /// Called in a timer's task. `cancel` of the action is code of the program and may block, so a callback thread calls it.
  private func expire() {
    guard lifecycle.withLock({ $0.expire() }) else { return }
    scheduler.callbacks.add {
      guard self.state != .finished else { return }
      self.notifyAction()
      self.finishIfPending()
    }
  }

  // MARK: Retry

  private func delayOfNextAttempt(after error: any Error) -> Duration? {
    guard let retry = resolvedOptions?.options.retry else { return nil }
    let (attempts, mayContinue) = lifecycle.withLock { ($0.attempts, !$0.isCanceledOrExpired) }
    guard mayContinue, attempts < retry.attempts, retry.isRetryable(error) else { return nil }
    return retry.delay(afterAttempt: attempts, throwing: error, at: Date())
  }

  /// Returns the action to pending, and schedules its next attempt.
  private func prepareNextAttempt(after delay: Duration) {
    // Published while the action is still executing: a pending action can be cancelled, and the event of its end must not
    // come before this one.
    let attempt = lifecycle.withLock { $0.attempts }
    scheduler.willRetry(self, attempt: attempt, delay: delay)
    let isCanceledOrExpired = lifecycle.withLock { lifecycle in
      lifecycle.returnToPending()
      return lifecycle.isCanceledOrExpired
    }
    queue.hold(self, for: .delay)
    // A cancelling caller that found the action executing has left the end to this attempt.
    if isCanceledOrExpired { return finishIfPending() }
    // A stop has already cancelled the pending actions of the suspended queue, and would wait for this one for ever.
    if scheduler.isStuck(self) { return cancel() }
    queue.releaseSlot(of: self, laneContinues: true)
    let timer = scheduler.after(delay) { [weak self] in
      if let self { scheduler.resume(self) }
    }
    lifecycle.withLock { $0.keep(delayTimer: timer, afterAttempt: attempt) }
  }
}
