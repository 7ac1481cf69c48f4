import CoherenceActions
import CoherenceCore
import CoherenceStrategies
import Foundation

/// Refreshes one scope: one attempt at a time, at the registered dates and for the reasons that come.
actor ScopeRefresher {
  /// The end of an attempt.
  enum Outcome {
    case refreshed(RefreshStatus)
    /// No attempt began: the data is new enough, or the delay after a failure has not passed.
    case unneeded(RefreshStatus?)
    /// Another process refreshes the scope.
    case leased
  }

  /// The time after which a suspended Connect is looked at again.
  private static let suspensionPause = Duration.seconds(60)

  private let stack: RefreshStack
  private let registration: RefreshRegistration
  private let name: StatusName
  private let watch = ScopeWatch()
  private var isStarted = false
  /// The reason of an automatic attempt that could not begin, because of a running attempt or a suspended Connect.
  private var missed: RefreshReason?
  private var current: Task<Outcome, any Error>?
  private var timer: Task<Void, Never>?
  /// The date of the next attempt by the timer, as the last attempt has planned it.
  private var dueDate: Date?
  /// The number of failures of the store itself since its last success.
  private var storeFailureCount = 0

  /// - Parameter scope: The scope of the status; for a read, the key.
  init(_ registration: RefreshRegistration, scope: String?, in stack: RefreshStack) {
    self.stack = stack
    self.registration = registration
    name = StatusName(registration.entity, registration.type, scope: scope)
  }

  deinit { timer?.cancel() }

  // MARK: Starting and stopping

  /// Begins the automatic attempts, if the refresher is still started: a stop may have been faster than this call.
  func start(if refresherIsStarted: @Sendable () -> Bool) {
    guard refresherIsStarted() else { return }
    isStarted = true
    trigger(.start)
  }

  /// Ends the automatic attempts, and cancels and awaits a running one.
  func stop() async {
    isStarted = false
    missed = nil
    timer?.cancel()
    timer = nil
    current?.cancel()
    _ = await current?.result
  }

  // MARK: Automatic attempts

  /// Called for each fetch of the entity, on the fetch's thread.
  nonisolated func noteFetch() {
    guard stack.allowsAttempts, watch.beginCheck(at: stack.now) else { return }
    Task { await self.trigger(.staleFetch) }
  }

  /// Begins an automatic attempt, unless the scope has a running attempt or the switches forbid attempts.
  func trigger(_ reason: RefreshReason) {
    guard current == nil else {
      // The running attempt may fail for the reason that has just gone, or end by a stop before this start.
      if isStarted, reason == .start || reason == .online { missed = reason }
      return
    }
    guard isStarted, stack.allowsAttempts else { return watch.endCheck(quietUntil: nil, at: stack.now) }
    guard !stack.connect.suspended else {
      let end = stack.now + Self.suspensionPause / .seconds(1)
      watch.endCheck(quietUntil: end, at: stack.now)
      missed = missed ?? reason
      return setTimer(to: end)
    }
    let reason = missed ?? reason
    missed = nil
    _ = begin(reason)
  }

  /// Begins the attempt that a suspended Connect has held back, if any.
  func resume() {
    if let missed { trigger(missed) }
  }

  // MARK: Attempts by call

  /// Refreshes the scope now, or joins the running attempt.
  ///
  /// - Parameter onlyIfStale: Whether new data is left as it is.
  func refresh(onlyIfStale: Bool) async throws -> RefreshStatus {
    while true {
      let isOwn = current == nil
      let outcome = try await (current ?? begin(onlyIfStale ? .start : .request)).value
      switch outcome {
      case .refreshed(let status): return status
      case .unneeded(let status?) where isOwn && onlyIfStale: return status
      case .leased where isOwn: throw inProgressError
      // The joined automatic attempt was not needed. Its task has ended, and this call begins an attempt of its own.
      default: continue
      }
    }
  }

  private var inProgressError: CoherenceError {
    CoherenceError(
      .refreshInProgress,
      "Another process refreshes '\(registration.entity.name)' at the moment; its data arrives in the store, or try again "
        + "later.", isRetryable: true)
  }

  // MARK: One attempt

  private func begin(_ reason: RefreshReason) -> Task<Outcome, any Error> {
    let task = Task {
      defer {
        current = nil
        // After the end, so that the timer of a past date finds no attempt.
        setTimer(to: dueDate)
        resume()
      }
      return try await attempt(reason)
    }
    current = task
    return task
  }

  private func attempt(_ reason: RefreshReason) async throws -> Outcome {
    let start = stack.now
    let lease = StatusTable.Lease(
      owner: UUID(), start: start, end: start + stack.leaseLength(registration) / .seconds(1))
    do {
      switch try await stack.table.claim(name, lease, by: rule(reason, now: start)) {
      case .refused(let status, let date):
        plan(after: status, notBefore: date)
        return status?.leaseEnd != nil && date != nil ? .leased : .unneeded(status)
      case .granted(let status):
        return .refreshed(try await attempt(reason, lease, status))
      }
    } catch let error as AttemptFailure {
      throw error.underlying
    } catch {
      // The store itself fails, and cannot keep the failure.
      storeFailureCount += 1
      let retry = stack.now + stack.retryDelay(afterFailures: storeFailureCount) / .seconds(1)
      plan(after: nil, notBefore: retry)
      if reason != .request, !Task.isCancelled { stack.connect.errorHandler(error) }
      throw error
    }
  }

  private func attempt(
    _ reason: RefreshReason, _ lease: StatusTable.Lease, _ status: RefreshStatus
  ) async throws -> RefreshStatus {
    let target = RefreshTarget(name)
    stack.send(.started(target, reason: reason))
    let failure = await execute(reason, lease, status)
    let end: RefreshStatus?
    do {
      end = try await finish(lease, failure)
    } catch {
      stack.send(.failed(target, error: failure ?? error))
      throw error
    }
    storeFailureCount = 0
    plan(after: end, notBefore: nil)
    // A success satisfies every reason.
    if end != nil, failure == nil { missed = nil }
    guard failure == nil, let end else {
      let error = failure ?? lostLease
      stack.send(.failed(target, error: error))
      throw AttemptFailure(underlying: error)
    }
    stack.send(.succeeded(target, end))
    return end
  }

  private var lostLease: CoherenceError {
    CoherenceError(
      .cancelled,
      "The refresh of '\(registration.entity.name)' took longer than its time limit, and another one has taken over.")
  }

  /// Runs the body as an action, an operation of the stack, and returns its error.
  private func execute(
    _ reason: RefreshReason, _ lease: StatusTable.Lease, _ status: RefreshStatus
  ) async -> (any Error)? {
    let store = CursorStore(table: stack.table, name: name, owner: lease.owner)
    let action = RefreshAction(registration: registration, store: store, reason: reason, status: status) {
      [stack, name, registration] in
      // The turn may come late: the time limit counts from now on, and so does the lease.
      try await stack.table.renew(
        name, lease, until: stack.now + stack.leaseLength(registration) / .seconds(1))
    }
    do {
      try await action.run(in: stack.connect)
      return nil
    } catch {
      return error
    }
  }

  /// Stores the result, also in a canceled task, so that the lease does not outlive the attempt.
  private func finish(_ lease: StatusTable.Lease, _ failure: (any Error)?) async throws -> RefreshStatus? {
    let (stack, name) = (stack, name)
    let isCanceled = Task.isCancelled
    return try await Task {
      if isCanceled, failure != nil { return try await stack.table.release(name, lease) }
      return try await stack.table.end(name, lease, error: failure, now: stack.now) { count in
        stack.retryDelay(afterFailures: count)
      }
    }.value
  }

  private func rule(_ reason: RefreshReason, now: Date) -> DueRule {
    DueRule(
      reason: reason, now: now, stalenessInterval: registration.stalenessInterval, schedule: registration.schedule,
      longestLease: stack.leaseLength(registration), longestDelay: max(stack.options.backoff.maximumDelay, .seconds(1)))
  }

  // MARK: The next attempt

  /// Sets the due date, and the date until which fetches need no check, from the status after an attempt.
  ///
  /// - Parameter notBefore: The end of the reason for which no attempt began.
  private func plan(after status: RefreshStatus?, notBefore: Date?) {
    let now = stack.now
    if let notBefore {
      watch.endCheck(quietUntil: notBefore, at: now)
      dueDate = notBefore
    } else if status?.lastSyncStatus == .failed {
      watch.endCheck(quietUntil: status?.nextAttemptTime, at: now)
      dueDate = status?.nextAttemptTime
    } else {
      watch.endCheck(
        quietUntil: status?.lastSyncTime.map { $0 + registration.stalenessInterval / .seconds(1) }, at: now)
      let last = min(status?.lastAttemptTime ?? now, now)
      dueDate = registration.schedule.flatMap { stack.nextDate(of: $0, after: last) }
    }
  }

  private func setTimer(to date: Date?) {
    timer?.cancel()
    timer = nil
    guard isStarted, let date else { return }
    let clock = stack.options.clock
    timer = Task { [weak self] in
      do { try await clock.wait(until: date) } catch { return }
      await self?.trigger(.schedule)
    }
  }
}

/// The failure of an attempt whose result the status has.
private struct AttemptFailure: Error {
  let underlying: any Error
}
