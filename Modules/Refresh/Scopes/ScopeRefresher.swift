import CoherenceActions
import CoherenceCore
import CoherenceStrategies
import Foundation

/// Refreshes one scope. A start, a timer, a fetch, a regained connection or a call begins an attempt; only one attempt
/// runs at a time.
actor ScopeRefresher {
  /// The end of an attempt.
  enum Outcome {
    case refreshed(RefreshStatus)
    /// No attempt began, because none is due, or because the delay after a failure has not passed.
    case unneeded(RefreshStatus?)
    /// No attempt began, because another process is refreshing the scope.
    case leased
  }

  /// The time between two checks whether the Connect is still suspended.
  private static let suspensionPause = Duration.seconds(60)

  private let stack: RefreshStack
  private let registration: RefreshRegistration
  private let name: StatusName
  private let throttle = ScopeCheckThrottle()
  private var isStarted = false
  /// Whether the list was unregistered, so that no attempt begins any more.
  private var isRemoved = false
  /// The reason of an automatic attempt that could not begin, because of a running attempt or a suspended Connect.
  private var missedReason: RefreshReason?
  /// The running attempt.
  private var current: Task<Outcome, any Error>?
  /// The action of the running attempt; `nil` before its submission.
  private var currentAction: AnyActionHandle?
  /// Sends the action of the running attempt, and ends with the attempt.
  private var submissions = Broadcast<AnyActionHandle>()
  private var timer: Task<Void, Never>?
  /// The date of the next automatic attempt, which the end of the last attempt has set.
  private var dueDate: Date?
  /// The beginning of an automatic attempt whose action was cancelled, and which the next attempt repeats; `nil` for
  /// none. The status does not show that the repetition is due: for a schedule, the next date follows the beginning of
  /// the cancelled attempt.
  private var repeatedStart: Date?
  /// The number of failures to read or save the status since the end of an attempt was saved.
  private var storeFailureCount = 0
  /// The latest own attempts whose ends were not saved, because their store has failed or was detached. The store may
  /// still have their leases.
  private var endedOwners: [UUID] = []
  /// The greatest number of ``endedOwners``, so that their number does not grow while the store fails.
  private static let endedOwnerLimit = 100
  /// The ``RefreshStack/storeChangeCount`` when an attempt began last, or was put off because of a suspended Connect.
  private var storeChangeCount = 0

  /// - Parameter scope: The scope of the status; for a read, the key.
  init(_ registration: RefreshRegistration, scope: String?, in stack: RefreshStack) {
    self.stack = stack
    self.registration = registration
    name = StatusName(registration.entity, registration.type, scope: scope)
  }

  deinit { timer?.cancel() }

  // MARK: Starting and stopping

  /// Begins the automatic attempts, unless a concurrent call has stopped the refresher before.
  func start(if refresherIsStarted: @Sendable () -> Bool) {
    guard !isRemoved, refresherIsStarted() else { return }
    isStarted = true
    trigger(.start)
  }

  /// Ends the automatic attempts, and cancels a running attempt. If a concurrent call has started the refresher again,
  /// the automatic attempts continue, and another attempt follows the cancelled one.
  ///
  /// - Returns: The cancelled attempt.
  @discardableResult
  func cancel(unless refresherIsStarted: @Sendable () -> Bool) -> Task<Outcome, any Error>? {
    current?.cancel()
    if refresherIsStarted() {
      if current != nil { missedReason = missedReason ?? .start }
      return current
    }
    isStarted = false
    missedReason = nil
    repeatedStart = nil
    timer?.cancel()
    timer = nil
    return current
  }

  /// Ends the attempts of an unregistered list: cancels a running attempt, and lets no further attempt begin.
  ///
  /// - Returns: The cancelled attempt.
  func remove() -> Task<Outcome, any Error>? {
    isRemoved = true
    return cancel { false }
  }

  /// Waits for the end of an attempt, unless the attempt cannot end before the caller: in an attempt, and in an action
  /// or a part of other work that the attempt waits for.
  ///
  /// - Returns: Whether the attempt has ended.
  func waitForEnd(of attempt: Task<Outcome, any Error>) async -> Bool {
    if RefreshAction.isCurrent { return false }
    if current == attempt {
      // In a task of its own, because a cancellation of the caller would end the wait.
      let wait = Task { try await self.waitForCurrentAction() }
      if case .failure(let error) = await wait.result, ErrorCode.deadlock ~= error { return false }
    }
    _ = await attempt.result
    return true
  }

  // MARK: Automatic attempts

  /// Begins an attempt if the data may be stale. Called for each fetch of the entity, on the fetch's thread.
  nonisolated func noteFetch() {
    guard stack.allowsAttempts,
      throttle.beginCheck(at: stack.now, storeChangeCount: stack.storeChangeCount)
    else { return }
    Task.detached { await self.trigger(.staleFetch) }
  }

  /// Begins an automatic attempt, unless the scope has a running attempt, the refresher is stopped or disabled, or the
  /// network is offline. While the Connect is suspended, plans another try instead.
  func trigger(_ reason: RefreshReason) {
    guard current == nil else {
      // The running attempt may still fail, because it began offline or because a stop has cancelled it. Then
      // `missedReason` leads to another attempt.
      if isStarted, reason == .start || reason == .online { missedReason = reason }
      return
    }
    guard isStarted, stack.allowsAttempts else { return endCheck(nextCheck: nil) }
    guard !stack.connect.suspended else {
      let end = stack.now + Self.suspensionPause / .seconds(1)
      storeChangeCount = stack.storeChangeCount
      endCheck(nextCheck: end)
      missedReason = missedReason ?? reason
      return setTimer(to: end)
    }
    let reason = missedReason ?? reason
    missedReason = nil
    _ = begin(reason, isAwaited: false)
  }

  /// Begins the attempt that a suspension of the Connect or a running attempt has prevented, if any.
  func resume() {
    if let missedReason { trigger(missedReason) }
  }

  // MARK: Attempts by call

  /// Refreshes the scope, or waits for the running attempt.
  ///
  /// - Parameter onlyIfStale: Whether an attempt begins only for stale data.
  /// - Throws: ``ErrorCode/invalidRefresh`` for an unregistered list, and ``ErrorCode/deadlock`` in an action, and
  ///   in a part of other work, that the attempt waits for.
  func refresh(onlyIfStale: Bool) async throws -> RefreshStatus {
    while true {
      if isRemoved { throw name.unregisteredError }
      let isOwn = current == nil
      let attempt = current ?? begin(onlyIfStale ? .start : .request, isAwaited: true)
      if !isOwn { try await waitForCurrentAction() }
      let outcome = try await attempt.value
      switch outcome {
      case .refreshed(let status): return status
      case .unneeded(let status?) where isOwn && onlyIfStale: return status
      case .leased where isOwn: throw inProgressError
      // The task of another caller or of the timer ended without an attempt, so this call begins its own.
      default: continue
      }
    }
  }

  /// Waits for the action of the running attempt, if the caller is an action or a part of other work. Only waits for
  /// actions are checked for a deadlock: the attempt may be the caller, or wait for the caller, its work or its queue.
  ///
  /// - Throws: ``ErrorCode/deadlock``; `CancellationError` when the task is cancelled.
  private func waitForCurrentAction() async throws {
    guard AnyActionHandle.current != nil || AwaitedWork.hasCurrentPart else { return }
    if let currentAction { return try await currentAction.waitUntilFinished() }
    for await action in submissions.makeStream() { return try await action.waitUntilFinished() }
    try Task.checkCancellation()
  }

  private func noteSubmission(_ action: AnyActionHandle) {
    currentAction = action
    submissions.send { action }
  }

  private var inProgressError: CoherenceError {
    CoherenceError(
      .refreshInProgress,
      "Another process is refreshing '\(registration.entity.name)' and will save the data in the store; wait for the "
        + "data, or try again later.", isRetryable: true)
  }

  // MARK: One attempt

  /// Starts the task of an attempt.
  ///
  /// - Parameter isAwaited: Whether the caller waits for the attempt. Only such an attempt has the task-local values of
  ///   the caller: an action that waits for itself is detected by them. An action whose fetch begins an attempt does
  ///   not wait for it, and the attempt runs in the queue behind the action.
  private func begin(_ reason: RefreshReason, isAwaited: Bool) -> Task<Outcome, any Error> {
    let task: Task<Outcome, any Error>
    if isAwaited {
      task = Task { try await self.run(reason) }
    } else {
      task = Task.detached { try await self.run(reason) }
    }
    current = task
    submissions = Broadcast()
    return task
  }

  /// Makes an attempt. Afterwards sets the timer, and begins a missed attempt.
  private func run(_ reason: RefreshReason) async throws -> Outcome {
    defer {
      current = nil
      currentAction = nil
      submissions.finish()
      // The timer is set after the reset of `current`: a timer for a past date fires at once, and has no effect while
      // an attempt runs.
      setTimer(to: dueDate)
      resume()
    }
    return try await attempt(reason)
  }

  /// Claims the lease of the scope and makes an attempt, if the status allows one.
  private func attempt(_ reason: RefreshReason) async throws -> Outcome {
    let start = stack.now
    storeChangeCount = stack.storeChangeCount
    let lease = StatusTable.Lease(
      owner: UUID(), start: start, end: start + stack.leaseLength(registration) / .seconds(1))
    do {
      switch try await stack.table.claim(name, lease, by: rule(reason, now: start)) {
      case .refused(let status, let date):
        // Without a date no attempt is due. A date is the end of another process's lease, or of a delay.
        plan(after: status, notBefore: date)
        return status?.leaseEnd != nil && date != nil ? .leased : .unneeded(status)
      case .granted(let status):
        return .refreshed(try await attempt(reason, under: lease, after: status))
      }
    } catch let error as AttemptFailure {
      throw error.underlying
    } catch let error where Task.isCancelled && (error is CancellationError || ErrorCode.cancelled ~= error) {
      // A stop has cancelled the attempt before it had the lease, and the store has not failed.
      plan(after: nil, notBefore: nil)
      throw error
    } catch {
      // The save of the lease may have been applied, although its reply was lost.
      if (error as? CoherenceError)?.outcome != .notApplied { noteUnreleased(lease) }
      // The status cannot record a failure of its own store, so this actor counts the failures and plans the retry.
      storeFailureCount += 1
      let retry = stack.now + stack.retryDelay(afterFailures: storeFailureCount) / .seconds(1)
      plan(after: nil, notBefore: retry)
      if reason != .request, !Task.isCancelled { stack.connect.errorHandler(error) }
      throw error
    }
  }

  /// Makes an attempt under its lease, and saves its end.
  ///
  /// - Parameter status: The status before the attempt.
  private func attempt(
    _ reason: RefreshReason, under lease: StatusTable.Lease, after status: RefreshStatus
  ) async throws -> RefreshStatus {
    let target = RefreshTarget(name)
    stack.send(.started(target, reason: reason))
    let failure = await execute(reason, lease, status)
    let end: RefreshStatus?
    do {
      end = try await finish(lease, failure)
    } catch {
      noteUnreleased(lease)
      stack.send(.failed(target, error: failure?.error ?? error))
      throw error
    }
    if end == nil { noteUnreleased(lease) }
    storeFailureCount = 0
    // A cancellation is no failure. Without a delay, a Connect that has cancelled the attempt would cancel the next
    // attempt too.
    let isDelayed = failure?.isCancellation == true && !Task.isCancelled
    repeatedStart = isDelayed && reason != .request ? lease.start : nil
    plan(after: end, notBefore: isDelayed ? stack.now + stack.retryDelay(afterFailures: 1) / .seconds(1) : nil)
    // A success makes a missed attempt for any reason unnecessary.
    if end != nil, failure == nil { missedReason = nil }
    guard failure == nil, let end else {
      let error = failure?.error ?? name.lostLeaseError
      stack.noteFailure(error)
      stack.send(.failed(target, error: error))
      throw AttemptFailure(underlying: error)
    }
    stack.send(.succeeded(target, end))
    return end
  }

  /// Runs the registered body as an entity action, and returns its failure.
  private func execute(
    _ reason: RefreshReason, _ lease: StatusTable.Lease, _ status: RefreshStatus
  ) async -> RefreshAction.Failure? {
    let store = CursorStore(table: stack.table, name: name, owner: lease.owner)
    let action = RefreshAction(
      registration: registration, store: store, reason: reason, status: status,
      renewLease: { [stack, name, registration] in
        // The action may have waited in its queue. Its time limit begins now, and so does the lease.
        try await stack.table.renew(
          name, lease, until: stack.now + stack.leaseLength(registration) / .seconds(1))
      },
      releaseLease: { [stack, name] in
        // In a task of its own, because a context performs no block in a cancelled task. The end of the attempt reports
        // an error.
        _ = await Task { try await stack.table.release(name, lease) }.result
      })
    return await action.run(in: stack.connect) { await self.noteSubmission($0) }
  }

  /// Saves the result of an attempt, and releases its lease.
  ///
  /// Saves in a new task, because a context performs no block in a cancelled task. Otherwise the lease would delay the
  /// next attempt until its end.
  private func finish(_ lease: StatusTable.Lease, _ failure: RefreshAction.Failure?) async throws -> RefreshStatus? {
    let (stack, name) = (stack, name)
    let isCanceled = Task.isCancelled
    return try await Task {
      if let failure, isCanceled || failure.isCancellation {
        do {
          return try await stack.table.release(name, lease)
        } catch let error where ErrorCode.noStore ~= error {
          // The store was detached. The action has released the lease before, or the store still has it.
          return nil
        }
      }
      return try await stack.table.end(name, lease, error: failure?.error, now: stack.now) { count in
        stack.retryDelay(afterFailures: count, of: failure?.error)
      }
    }.value
  }

  /// Notes the lease of an ended attempt, which a store may still have: the lease prevents no further attempt.
  private func noteUnreleased(_ lease: StatusTable.Lease) {
    // The error of an unsaved end comes here twice.
    guard endedOwners.last != lease.owner else { return }
    endedOwners = Array((endedOwners + [lease.owner]).suffix(Self.endedOwnerLimit))
  }

  private func rule(_ reason: RefreshReason, now: Date) -> DueRule {
    DueRule(
      reason: reason, now: now, stalenessInterval: registration.stalenessInterval, schedule: registration.schedule,
      longestLease: stack.leaseLength(registration), longestDelay: stack.longestDelay,
      repeatedStart: reason == .schedule ? repeatedStart : nil, endedOwners: endedOwners)
  }

  // MARK: The next attempt

  /// Sets the date of the next attempt, and the date until which fetches need no check.
  ///
  /// - Parameters:
  ///   - status: The status after the attempt.
  ///   - notBefore: The earliest date of the next attempt, if a lease or a delay has prevented this attempt.
  private func plan(after status: RefreshStatus?, notBefore: Date?) {
    if let notBefore {
      endCheck(nextCheck: notBefore)
      dueDate = notBefore
    } else if status?.lastSyncStatus == .failed {
      endCheck(nextCheck: status?.nextAttemptTime)
      dueDate = status?.nextAttemptTime
    } else {
      endCheck(nextCheck: status?.lastSyncTime.map { $0 + registration.stalenessInterval / .seconds(1) })
      let now = stack.now
      let last = min(status?.lastAttemptTime ?? now, now)
      dueDate = registration.schedule.flatMap { stack.nextDate(of: $0, after: last) }
    }
  }

  /// Ends a check of a fetch, and sets the date until which fetches need no further check of the same stores.
  private func endCheck(nextCheck: Date?) {
    throttle.endCheck(nextCheck: nextCheck, at: stack.now, storeChangeCount: storeChangeCount)
  }

  private func setTimer(to date: Date?) {
    timer?.cancel()
    timer = nil
    guard isStarted, let date else { return }
    let clock = stack.options.clock
    timer = Task.detached { [weak self] in
      do { try await clock.wait(until: date) } catch { return }
      await self?.trigger(.schedule)
    }
  }
}

/// The failure of an attempt, as opposed to a failure to read or save the status. The store has recorded it, unless the
/// attempt was cancelled or another attempt has taken over.
private struct AttemptFailure: Error {
  let underlying: any Error
}
