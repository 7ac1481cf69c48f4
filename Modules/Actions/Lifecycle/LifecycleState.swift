import CoherenceCore
import Foundation

/// The mutable state of an action from its submission to its end. The lock of the action's handle protects all of it, so
/// that state, status, error and statistics are always those of one moment.
///
/// ```
/// pending ── claim ──▶ executing ── finish ──▶ finished
///    ▲                    │
///    └── returnToPending ─┘
/// ```
///
/// `Completion` is the type of a submitter's completion block.
struct LifecycleState<Completion: Sendable> {
  private(set) var state = ActionState.pending
  private(set) var status = ActionCompletionStatus.unknown
  private(set) var error: (any Error)?
  private var startTime: Date?
  private var finishTime: Date?
  private(set) var attempts = 0
  /// Whether a cancellation or a timeout has requested the end. The request reaches the action once.
  private var isEndRequested = false
  /// Whether an equal action replaces this one.
  private var isReplaced = false
  /// The number of later submissions joined to this action.
  private var joins = 0
  /// Whether the timeout passed before the action ended.
  private(set) var isExpired = false
  /// The task of an asynchronous attempt.
  var task: Task<Void, Never>?
  /// The task that waits for the timeout.
  private var timeoutTimer: Task<Void, Never>?
  /// The task that waits for the delay before the next attempt.
  private var delayTimer: Task<Void, Never>?
  /// The counters of the attempts' contexts. One of them may have the sum of several released contexts.
  private var contextCounters: [ContextActivityCounter] = []
  var progress: SharedProgress?
  /// Blocks to call at the end of the action.
  var observers = EndObservers()
  /// The tasks that wait for the end.
  var waiters: [ObjectIdentifier: CancellableWait<Void>] = [:]
  /// Whether the action has succeeded with unsaved changes in its context.
  var hasUnsavedChanges = false
  private var completions: [Completion]

  init(completions: [Completion]) { self.completions = completions }

  var statistics: ActionStatistics {
    var statistics = ActionStatistics(startTime: startTime, finishTime: finishTime, attempts: attempts)
    statistics.hasUnsavedChanges = hasUnsavedChanges
    statistics.joins = joins
    statistics.isReplaced = isReplaced
    if !contextCounters.isEmpty {
      statistics.contextStatistics = contextCounters.reduce(into: ContextStatistics()) { $0 += $1.statistics }
    }
    return statistics
  }

  /// The number of retained timers and counters of contexts. For tests.
  var retainedCount: Int { (timeoutTimer == nil ? 0 : 1) + (delayTimer == nil ? 0 : 1) + contextCounters.count }

  /// Adds the counter of an attempt's context.
  mutating func add(_ counter: ContextActivityCounter) {
    // An action may have any number of attempts. The counter of a released context, which has no other reference, does
    // not change any more, so that all of them are added up in one.
    var released: Int?
    for index in contextCounters.indices.reversed() {
      guard isKnownUniquelyReferenced(&contextCounters[index]) else { continue }
      if let released {
        let later = contextCounters.remove(at: released)
        contextCounters[index].add(later.statistics)
      }
      released = index
    }
    contextCounters.append(counter)
  }

  /// Whether the action is cancelled or its timeout has passed. A pending action in this state never runs.
  var isCanceledOrExpired: Bool { status == .canceled || isExpired }

  /// Joins the submission of an equal action to this action, with its completion block.
  ///
  /// - Parameter onlyPending: Whether a running action refuses.
  /// - Returns: Whether the submission has joined. An action refuses after its end or a request to end.
  mutating func join(_ completion: Completion?, onlyPending: Bool) -> Bool {
    guard state != .finished, !isEndRequested, !onlyPending || state == .pending else { return false }
    joins += 1
    if let completion { completions.append(completion) }
    return true
  }

  // MARK: Transitions

  /// A successful claim of a pending action.
  enum Claim {
    /// The action was never executing before.
    case first
    /// An earlier attempt has returned the action to pending.
    case repeated
  }

  /// Changes from pending to executing on behalf of one caller, which must then finish the action: a lane that runs the
  /// action, or a caller that finishes the action without running it.
  ///
  /// - Parameter toRun: Whether the caller runs the action.
  /// - Returns: `nil` when another caller has claimed the action; to a lane also when the action is cancelled or
  ///   expired, because another caller is about to claim it.
  mutating func claim(toRun: Bool) -> Claim? {
    guard state == .pending, !(toRun && isCanceledOrExpired) else { return nil }
    state = .executing
    if toRun { attempts += 1 }
    guard startTime == nil else { return .repeated }
    startTime = Date()
    return .first
  }

  /// Marks the action as cancelled. A finished or cancelled action does not change.
  ///
  /// - Returns: Whether the caller has to pass the request to the action.
  mutating func cancel() -> Bool {
    guard state != .finished, status != .canceled else { return false }
    status = .canceled
    return requestEnd()
  }

  /// Marks the action as cancelled because an equal action replaces it; see `cancel()`.
  mutating func replace() -> Bool {
    if state != .finished, status != .canceled { isReplaced = true }
    return cancel()
  }

  /// Marks the action as expired. A finished, cancelled or expired action does not change.
  ///
  /// - Returns: Whether the caller has to pass the request to the action.
  mutating func expire() -> Bool {
    guard state != .finished, status != .canceled, !isExpired else { return false }
    isExpired = true
    return requestEnd()
  }

  /// - Returns: Whether this is the first request.
  private mutating func requestEnd() -> Bool {
    defer { isEndRequested = true }
    return !isEndRequested
  }

  /// Keeps the timer of the timeout until the end, and cancels it if the action has finished.
  mutating func keep(timeoutTimer timer: Task<Void, Never>) {
    if state == .finished { timer.cancel() } else { timeoutTimer = timer }
  }

  /// Keeps the timer of a delay until the end or the next delay, and cancels it if the action has finished.
  ///
  /// - Parameter attempt: The number of the attempt before the delay. The delay may have passed before this call, and a
  ///   later attempt may have its own timer by now.
  mutating func keep(delayTimer timer: Task<Void, Never>, afterAttempt attempt: Int) {
    if state == .finished { return timer.cancel() }
    if attempts == attempt { delayTimer = timer }
  }

  /// Changes from executing to pending, for another attempt.
  mutating func returnToPending() {
    state = .pending
    task = nil
  }

  /// Changes from executing to finished, and releases the task, the timers, the blocks and the waiters.
  mutating func finish(throwing failure: (any Error)?) -> Finish {
    error = finalError(for: failure)
    if status != .canceled { status = error == nil ? .successful : .failed }
    finishTime = max(Date(), startTime ?? .distantPast)
    state = .finished
    defer {
      task = nil
      timeoutTimer = nil
      delayTimer = nil
      observers = EndObservers()
      waiters = [:]
      completions = []
    }
    return Finish(
      timers: [timeoutTimer, delayTimer].compactMap(\.self), observers: observers.all, waiters: Array(waiters.values),
      completions: completions, progress: progress)
  }

  /// The error of the handle: an error of its own for a replaced or expired action, with the thrown error underlying.
  private func finalError(for failure: (any Error)?) -> (any Error)? {
    if isReplaced {
      return CoherenceError(
        .actionReplaced,
        "The action was cancelled, because an equal action, submitted later, replaces it; wait for the later action.",
        underlying: failure)
    }
    guard isExpired, status != .canceled else { return failure }
    return CoherenceError(
      .timedOut, "The action took longer than its timeout; give it more time, or less to do.", underlying: failure,
      isRetryable: true)
  }

  /// The objects to notify of the end, after the lock is released.
  struct Finish {
    let timers: [Task<Void, Never>]
    let observers: [EndObservers.Block]
    let waiters: [CancellableWait<Void>]
    let completions: [Completion]
    let progress: SharedProgress?
  }
}
