import CoherenceCore
import Foundation

/// What changes about an action from its submission to its end. All of it changes under one lock, that of its handle.
struct ActionLife {
  private(set) var state = ActionState.pending
  private(set) var status = ActionCompletionStatus.unknown
  private(set) var error: (any Error)?
  private var startTime: Date?
  private var finishTime: Date?
  private(set) var attempts = 0
  /// Whether the action was asked to end, which happens once.
  private var wasAskedToEnd = false
  /// Whether an equal action has taken its place.
  private var isReplaced = false
  /// How many submissions of equal actions have joined it.
  private var joins = 0
  /// Whether its time was over before it ended.
  private(set) var isExpired = false
  /// The task of an asynchronous attempt.
  var task: Task<Void, Never>?
  /// The tasks with a time of their own: the end of the action's time, or its next attempt.
  private var timers: [Task<Void, Never>] = []
  /// What counts the activity in the contexts of the attempts.
  var counters: [ContextActivityCounter] = []
  /// The actions that this one waits for while it runs.
  var awaited: [AnyActionHandle] = []
  var progress: SharedProgress?
  var observers: [@Sendable () -> Void] = []
  /// Who waits for the end, and may give up waiting.
  var waits: [ObjectIdentifier: FinishWait] = [:]
  /// Whether the action has succeeded and left changes in its context that were never saved.
  var hasUnsavedChanges = false
  private var completions: [ActionSubmission.Completion]

  init(completions: [ActionSubmission.Completion]) { self.completions = completions }

  var statistics: ActionStatistics {
    var statistics = ActionStatistics(startTime: startTime, finishTime: finishTime, attempts: attempts)
    statistics.hasUnsavedChanges = hasUnsavedChanges
    statistics.joins = joins
    statistics.isReplaced = isReplaced
    if !counters.isEmpty {
      statistics.contextStatistics = counters.reduce(into: ContextStatistics()) { $0 += $1.statistics }
    }
    return statistics
  }

  /// Lets the submitter of an equal action share this one. Not after it finished or was asked to end.
  ///
  /// - Parameter onlyPending: Whether an action that is executing cannot be shared.
  mutating func join(_ completion: ActionSubmission.Completion?, onlyPending: Bool) -> Bool {
    guard state != .finished, !wasAskedToEnd, !onlyPending || state == .pending else { return false }
    joins += 1
    if let completion { completions.append(completion) }
    return true
  }

  // MARK: Steps

  /// From pending to executing, for the one caller that sees to the end: a lane that runs the action, or a caller that
  /// ends it without running it.
  ///
  /// - Returns: Whether this is the first time that the action is executing; `nil` when another caller came first, or
  ///   has asked for the end and comes next.
  mutating func claim(toRun: Bool) -> Bool? {
    guard state == .pending, !(toRun && hasToEnd) else { return nil }
    state = .executing
    if toRun { attempts += 1 }
    guard startTime == nil else { return false }
    startTime = Date()
    return true
  }

  /// Whether the end was asked for, by a caller that keeps a waiting action from running.
  var hasToEnd: Bool { status == .canceled || isExpired }

  /// Asks for the end, which the first one who asks has to pass on.
  mutating func cancel() -> Bool {
    guard state != .finished, status != .canceled else { return false }
    status = .canceled
    defer { wasAskedToEnd = true }
    return !wasAskedToEnd
  }

  /// Asks for the end because an equal action takes its place.
  mutating func replace() -> Bool {
    if state != .finished, status != .canceled { isReplaced = true }
    return cancel()
  }

  mutating func expire() -> Bool {
    guard state != .finished, status != .canceled, !isExpired else { return false }
    isExpired = true
    defer { wasAskedToEnd = true }
    return !wasAskedToEnd
  }

  /// Keeps a timer, unless the action has finished.
  mutating func keep(_ timer: Task<Void, Never>) {
    if state == .finished { timer.cancel() } else { timers.append(timer) }
  }

  /// From executing back to pending, for another attempt.
  mutating func goBack() {
    state = .pending
    task = nil
  }

  /// From executing to finished.
  mutating func finish(throwing failure: (any Error)?) -> Finish {
    error = reason(of: failure)
    if status != .canceled { status = error == nil ? .successful : .failed }
    finishTime = max(Date(), startTime ?? .distantPast)
    state = .finished
    defer {
      task = nil
      timers = []
      observers = []
      waits = [:]
      completions = []
    }
    return Finish(
      timers: timers, observers: observers, waits: Array(waits.values), completions: completions, progress: progress)
  }

  /// The error of the end: that of the execution, as the reason for it where the end was asked for.
  private func reason(of failure: (any Error)?) -> (any Error)? {
    if isReplaced {
      return CoherenceError(
        .actionReplaced,
        "The action was canceled, because an equal action, submitted later, replaces it; wait for the later action.",
        underlying: failure)
    }
    guard isExpired, status != .canceled else { return failure }
    return CoherenceError(
      .timedOut, "The action took longer than its timeout; give it more time, or less to do.", underlying: failure,
      isRetryable: true)
  }

  /// The receivers of the end.
  struct Finish {
    let timers: [Task<Void, Never>]
    let observers: [@Sendable () -> Void]
    let waits: [FinishWait]
    let completions: [ActionSubmission.Completion]
    let progress: SharedProgress?
  }
}
