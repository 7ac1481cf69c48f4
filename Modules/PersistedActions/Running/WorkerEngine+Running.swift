import CoherenceActions
import CoherenceCore
import Foundation
import Synchronization

// The slots in which actions run, and the groups in which their ends are saved.

extension WorkerEngine {
  // MARK: Slots

  /// Starts a slot for each claimed action, up to the worker's limit.
  func startSlots() {
    while slotCount < options.concurrency, slotCount < running.count + buffer.count {
      slotCount += 1
      Task.detached { await self.runSlot() }
    }
  }

  /// Runs claimed actions one after the other, until none is left. Runs outside of the actor, so that an action without
  /// a suspension starts and ends on one thread.
  private nonisolated func runSlot() async {
    var last: FinishedAttempt?
    while let action = await nextAction(after: last) { last = await run(action) }
  }

  /// Records the end of a slot's action, and removes the next action from the buffer.
  ///
  /// - Returns: `nil` when no action is left; the slot must end then, because it is no longer counted.
  private func nextAction(after last: FinishedAttempt?) async -> RunningAction? {
    if let last {
      if let duration = last.duration { pacing.note(duration) }
      let attempt = endedAttempt(of: last)
      running[last.claim.id] = nil
      if let attempt {
        ended.append(attempt)
        startSaving(in: attempt.store)
      }
    }
    if buffer.isEmpty { await measureWhenIdle() }
    // `buffer` may have actions again, because the measurement suspends. They need this slot: `startSlots` starts no
    // slot for them while this slot is counted.
    guard let claim = nextClaim() else {
      slotCount -= 1
      if !allWaitingClaimed, phase == .started { wakeSignal.send(readingStore: false) }
      resumeIdleWaiters()
      return nil
    }
    // The next claim begins when half of the actions claimed in advance are left, so that the slots never run empty.
    if !allWaitingClaimed, phase == .started, buffer.count <= pacing.ahead / 2 { wakeSignal.send(readingStore: false) }
    let handle = claim.handle
    let context = PersistedActionContext(claim, repository: repository, container: container, date: clock.date) {
      [weak self] progress in
      self?.send(.progressed(handle, completed: progress.completed, total: progress.total))
    }
    let action = RunningAction(claim: claim, context: context)
    running[claim.id] = action
    return action
  }

  /// Removes the next claim from the buffer, and the claims before it whose stores were detached since they were claimed,
  /// as at the logout of a user. Their actions do not begin here: another worker with the store runs them after the lease.
  private func nextClaim() -> ActionClaim? {
    while let claim = buffer.popLast() {
      guard let store = claim.recordID.storeIdentifier, repository.coordinator.persistentStore(with: store) == nil
      else { return claim }
    }
    return nil
  }

  /// The end of an attempt, as the slot reports it to the actor.
  private struct FinishedAttempt {
    enum End {
      case result(Result<Void, any Error>, ActionType)
      /// The action did not begin: it was cancelled before, its type is unknown, or its payload cannot be decoded.
      case outcome(EndedAttempt.Outcome)
    }

    let claim: ActionClaim
    let context: PersistedActionContext
    let end: End
    var duration: Duration?
  }

  /// Runs an attempt.
  private nonisolated func run(_ action: RunningAction) async -> FinishedAttempt {
    let (claim, context) = (action.claim, action.context)
    // The record of a cancelled run waits for the next date of its schedule after every outcome.
    if claim.isCancelRequested { return FinishedAttempt(claim: claim, context: context, end: .outcome(.handedBack)) }
    func unbegun(_ text: String) -> FinishedAttempt {
      FinishedAttempt(claim: claim, context: context, end: .outcome(.parked(text: text)))
    }
    guard let type = repository.catalog[claim.handle.name] else {
      return unbegun("The worker knows no action named '\(claim.handle.name)'.")
    }
    let body: ActionType.Body
    do {
      body = try type.decode(claim.payload)
    } catch {
      return unbegun("The payload of the action cannot be decoded: \(error.logText).")
    }
    let handle = claim.handle
    counters.withLock { $0.attempts += 1 }
    send(.started(handle, attempt: claim.attempt))
    let start = clock.elapsed()
    // An immediate task avoids a change of threads: the action runs on the slot's thread up to its first suspension.
    let task = Task.immediateDetached { [coordinator = repository.coordinator, attemptsOfWorker] in
      try await attemptsOfWorker.run {
        try await coordinator.observed(StackOperation(.persistedAction, handle.name)) { try await body(context) }
      }
    }
    context.attach(task)
    let result = await task.result
    return FinishedAttempt(
      claim: claim, context: context, end: .result(result, type), duration: clock.elapsed() - start)
  }

  /// Returns the end to save; `nil` if the action's `commit` has already saved the completion.
  private func endedAttempt(of attempt: FinishedAttempt) -> EndedAttempt? {
    let context = attempt.context
    switch attempt.end {
    case .outcome(let outcome): return ending(attempt.claim, outcome)
    case .result(let result, let type):
      guard let event = context.commitEvent else {
        return EndedAttempt(
          claim: attempt.claim, outcome: outcome(of: result, context, type), progress: context.progress,
          retry: type.retry)
      }
      if case .failure(let error) = result {
        log("A persisted action threw an error after it had committed its work.", error)
      }
      publish([event])
      return nil
    }
  }

  private func ending(_ claim: ActionClaim, _ outcome: EndedAttempt.Outcome) -> EndedAttempt {
    EndedAttempt(claim: claim, outcome: outcome, progress: nil, retry: .standard)
  }

  private func outcome(
    of result: Result<Void, any Error>, _ context: PersistedActionContext, _ type: ActionType
  ) -> EndedAttempt.Outcome {
    switch result {
    case .success: return .succeeded(result: context.result)
    case .failure(let error):
      if running[context.claim.id]?.isHandedBack == true { return .handedBack }
      switch error as? PersistedActionExit {
      case .retry(let delay)?:
        let limited = min(max(.zero, delay), RetryPolicy.longestAdvisedDelay)
        return .failed(text: error.logText, isRetryable: true, delay: .exactly(limited))
      case .postpone(let date)?: return .postponed(until: date)
      case .park(let text)?: return .parked(text: text)
      case nil:
        let advised = RetryPolicy.advisedDelay(of: error, at: clock.date()) ?? .zero
        let isRetryable = type.isRetryable(context.deciding(error))
        return .failed(text: error.logText, isRetryable: isRetryable, delay: .policy(atLeast: advised))
      }
    }
  }

  // MARK: Saving ends

  private func startSaving(in store: StoreIdentifier?) {
    guard savingStores.insert(store).inserted else { return }
    Task { await self.saveEnds(in: store) }
  }

  /// Saves the ends of attempts on the actions of a store until none is left. Ends from the time of a save form the
  /// next group.
  ///
  /// Each store has saves of its own, so that a store that fails delays no end in another store. A save over several
  /// stores could also commit in one of them and fail in another; its repetition would take the saved ends for ends
  /// without a lease.
  private func saveEnds(in store: StoreIdentifier?) async {
    while true {
      let group = ended.filter { $0.store == store }
      guard !group.isEmpty else { break }
      ended.removeAll { $0.store == store }
      saving += group
      await save(group)
      saving.removeAll { $0.store == store }
      await measureWhenIdle()
      if !allWaitingClaimed, phase == .started { wakeSignal.send(readingStore: false) }
    }
    savingStores.remove(store)
    resumeIdleWaiters()
  }

  private static let longestSaveDelay = Duration.seconds(30)

  /// Saves a group of ends of one store, and repeats the save while the store fails. The repetition needs no limit: if
  /// this worker cannot save its heartbeats either, another worker takes the actions over.
  private func save(_ attempts: [EndedAttempt]) async {
    var delay = Duration.milliseconds(100)
    while true {
      do {
        publish(try await repository.finish(attempts, at: clock.date()))
        counters.withLock { $0.saves += 1 }
        return
      } catch {
        guard (error as? CoherenceError)?.isTransient == true else { return await saveOneByOne(attempts, error) }
        guard phase != .stopping else {
          return log("The ends of persisted actions could not be saved before the stop; their leases run out.", error)
        }
        log("The ends of persisted actions could not be saved; the worker tries again.", error)
        guard (try? await clock.sleep(delay)) != nil else { return }
        delay = min(delay * 2, Self.longestSaveDelay)
      }
    }
  }

  /// Saves the ends of a refused group in a transaction each, so that one invalid end does not prevent the other saves.
  /// If the store refuses an end again, for example because of its result, the action is parked.
  private func saveOneByOne(_ attempts: [EndedAttempt], _ error: any Error) async {
    for var attempt in attempts {
      do {
        guard attempts.count > 1 else { throw error }
        publish(try await repository.finish([attempt], at: clock.date()))
      } catch {
        attempt.outcome = .parked(text: "The end of the action could not be saved: \(error.logText)")
        do {
          publish(try await repository.finish([attempt], at: clock.date()))
        } catch {
          log("The end of a persisted action could not be saved; its lease runs out.", error)
        }
      }
    }
  }
}

extension CoherenceError {
  /// Whether the store may accept the same save later.
  fileprivate var isTransient: Bool {
    let codes: Set<ErrorCode> = [
      .versionConflict, .serverUnreachable, .tooManyConnections, .connectionLost, .storeBusy, .storeFull, .inputOutput,
      .authenticationFailed,
    ]
    return isRetryable || codes.contains(code)
  }
}
