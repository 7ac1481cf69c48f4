import CoherenceCore
import Foundation
import Synchronization

/// The way of an action through its queue.
extension AnyActionHandle {
  /// Whether it waits for its turn.
  var isPending: Bool { life.withLock { $0.state == .pending } }

  /// Runs the action, unless it was ended while it waited.
  ///
  /// - Returns: How long it took, in nanoseconds; `nil` when it continues, and notifies the lane of its end.
  func run(inLane lane: Int) -> UInt64? {
    guard let isFirst = life.withLock({ $0.claim(toRun: true) }) else { return 0 }
    if isFirst {
      dispatcher.events.didStart(self)
      if let timeout = terms?.options.timeout { limitTime(to: timeout) }
    }
    return attempt(inLane: lane)
  }

  /// The attempt has a task from now on.
  func didStart(_ task: Task<Void, Never>) {
    let isAskedToEnd = life.withLock { life in
      if life.state == .executing { life.task = task }
      return life.hasToEnd
    }
    if isAskedToEnd { task.cancel() }
  }

  /// The attempt ended: runs the action again if wanted, or finishes it.
  func end(throwing error: (any Error)?) {
    if let error, let delay = delayOfNextAttempt(after: error) {
      prepareNextAttempt(after: delay)
    } else {
      finish(throwing: error)
    }
  }

  private func finish(throwing error: (any Error)?) {
    let finish = life.withLock { $0.finish(throwing: error) }
    for timer in finish.timers { timer.cancel() }
    finish.progress?.end()
    if terms != nil { dispatcher.didFinish(self) }
    dispatcher.events.didFinish(self, completions: finish.completions)
    for observer in finish.observers { observer() }
    for wait in finish.waits { wait.end(.success(())) }
  }

  // MARK: Asking for the end

  public final func cancel() { follow(markCanceled()) }

  /// The next steps of a caller that canceled an action.
  struct Cancellation {
    fileprivate let asksToEnd: Bool
    fileprivate let finishes: Bool
  }

  /// The action counts as canceled from now on, and does not begin any more.
  func markCanceled() -> Cancellation { mark { $0.cancel() } }

  /// The action counts as canceled from now on, because an equal one takes its place.
  func markReplaced() -> Cancellation { mark { $0.replace() } }

  private func mark(_ end: (inout ActionLife) -> Bool) -> Cancellation {
    life.withLock { life in
      let wasCanceled = life.status == .canceled || life.state == .finished
      return Cancellation(asksToEnd: end(&life), finishes: !wasCanceled)
    }
  }

  func follow(_ cancellation: Cancellation) {
    if cancellation.asksToEnd { askToEnd() }
    if cancellation.finishes { finishUnlessRunning() }
  }

  /// Fails the action without running it, if it still waits and its end was not asked for.
  func fail(_ error: CoherenceError) {
    if !hasToEnd { finishUnlessRunning(throwing: error) }
  }

  private func limitTime(to timeout: Duration) {
    let timer = dispatcher.after(timeout) { [weak self] in self?.expire() }
    life.withLock { $0.keep(timer) }
  }

  /// Called by a timer's task, which leaves `cancel` of the action, where the program may block, to a thread of its own.
  private func expire() {
    guard life.withLock({ $0.expire() }) else { return }
    dispatcher.callbacks.add {
      guard self.state != .finished else { return }
      self.askToEnd()
      self.finishUnlessRunning()
    }
  }

  private func askToEnd() {
    // As a part of the action: what it calls there does not wait for the action itself.
    Self.$executing.withValue(self) { action.cancel() }
    let (task, progress) = life.withLock { ($0.task, $0.progress) }
    task?.cancel()
    progress?.cancel()
  }

  /// Takes a waiting action out of its queue. Its events are those of an action that ran.
  private func finishUnlessRunning(throwing error: (any Error)? = nil) {
    guard let isFirst = life.withLock({ $0.claim(toRun: false) }) else { return }
    dispatcher.withdraw(self)
    if isFirst { dispatcher.events.didStart(self) }
    finish(throwing: error)
  }

  // MARK: Another attempt

  private func delayOfNextAttempt(after error: any Error) -> Duration? {
    guard let retry = terms?.options.retry else { return nil }
    let (attempts, isOpen) = life.withLock { ($0.attempts, !$0.hasToEnd) }
    guard isOpen, attempts < retry.attempts, retry.isRetryable(error) else { return nil }
    var generator = SystemRandomNumberGenerator()
    return retry.delay(afterAttempt: attempts, using: &generator)
  }

  private func prepareNextAttempt(after delay: Duration) {
    // While the action is still executing, for the event of an end that follows at once must not come before this one.
    dispatcher.events.willRetry(self, attempt: life.withLock { $0.attempts }, delay: delay)
    let isAskedToEnd = life.withLock { life in
      life.goBack()
      return life.hasToEnd
    }
    queue.hold(self, at: .delay)
    // A caller that asked for the end before this found the action running, and left the rest to it.
    if isAskedToEnd { return finishUnlessRunning() }
    if dispatcher.isStuck(self) { return cancel() }
    dispatcher.leaveGroup(self)
    let timer = dispatcher.after(delay) { [weak self] in
      if let self { dispatcher.passDelay(self) }
    }
    life.withLock { $0.keep(timer) }
  }
}
