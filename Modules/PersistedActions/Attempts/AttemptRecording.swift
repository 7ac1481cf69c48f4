import CoherenceCore
import Foundation

/// Writes the ends of attempts into records. The caller saves the context afterwards.
struct AttemptRecording {
  let repository: WorkerRepository
  let context: ManagedObjectContext
  let date: Date

  /// Writes the end of an attempt.
  ///
  /// - Returns: The event to publish once the save has committed.
  func record(_ attempt: EndedAttempt, in record: PersistedActionRecord) throws -> PersistedActionEvent {
    if let progress = attempt.progress {
      record.completedUnits = progress.completed
      record.totalUnits = progress.total
    }
    if record.isCancelRequested {
      if case .failed(let text, _, _) = attempt.outcome { record.noteFailure(text, at: date) }
      return try end(record, as: .canceled)
    }
    switch attempt.outcome {
    case .succeeded(let result):
      record.result = result
      return try end(record, as: .succeeded)
    case .failed(let text, let isRetryable, let delay):
      record.noteFailure(text, at: date)
      return try retry(record, attempt.retry, isRetryable: isRetryable, delay: delay, text: text)
    case .parked(let text):
      record.noteFailure(text, at: date)
      return try end(record, as: .parked, text: text)
    case .postponed(let later):
      record.requeue(from: later, now: date)
      return .rescheduled(attempt.claim.handle, date: later)
    case .handedBack:
      // The due date was reached before the claim. The action waits at its former rank, even if the clock was set back.
      record.requeue(from: record.dueDate, now: record.dueDate)
      return .rescheduled(attempt.claim.handle, date: record.dueDate)
    }
  }

  /// Ends the attempt of a worker whose heartbeats have stopped. The attempt counts: an action that crashes its process
  /// must run out of attempts.
  func rescue(_ record: PersistedActionRecord) throws -> PersistedActionEvent {
    let handle = record.handle
    let text = "The worker stopped during the attempt."
    record.noteFailure(text, at: date)
    if record.isCancelRequested { return try end(record, as: .canceled) }
    let retry = record.ownRetry ?? repository.catalog[record.name]?.retry ?? .standard
    guard record.attempts < retry.attempts else { return try end(record, as: .parked, text: text) }
    record.requeue(from: date, now: date)
    return .rescued(handle)
  }

  private func retry(
    _ record: PersistedActionRecord, _ policy: PersistedRetry, isRetryable: Bool, delay: EndedAttempt.Delay,
    text: String
  ) throws -> PersistedActionEvent {
    let policy = record.ownRetry ?? policy
    let attempt = record.attempts
    guard isRetryable, attempt < policy.attempts else { return try end(record, as: .parked, text: text) }
    let duration =
      switch delay {
      case .policy(let shortest): max(shortest, policy.delay(afterAttempt: attempt))
      case .exactly(let duration): duration
      }
    // No store can keep the date after a delay of `.seconds(Int64.max)`.
    let later = date.addingTimeInterval(duration.limitedForSleep / .seconds(1))
    record.requeue(from: later, now: date)
    return .willRetry(record.handle, attempt: attempt, error: text, date: later)
  }

  /// Ends an action. The record of a schedule waits for the next date instead, and a new record documents the run.
  func end(
    _ record: PersistedActionRecord, as final: PersistedActionState, text: String? = nil
  ) throws -> PersistedActionEvent {
    let isKept = final != .succeeded || !repository.retention.deletesSucceeded
    context.signalOnSave(ActionChannel.finished)
    if let next = repository.catalog.nextRun(of: record, after: date) {
      let handle = isKept ? try addRun(of: record, as: final) : record.handle
      record.resume(from: next.date, by: next.text)
      context.signalOnSave(ActionChannel.due)
      return .finished(handle, final, error: text)
    }
    let handle = record.handle
    if isKept { record.finish(final, at: date) } else { context.delete(record) }
    return .finished(handle, final, error: text)
  }

  /// Inserts a record that documents a finished run of a schedule.
  private func addRun(
    of record: PersistedActionRecord, as final: PersistedActionState
  ) throws -> PersistedActionHandle {
    let run = PersistedActionRecord(entity: record.entity, insertInto: context)
    if let store = record.objectID.storeIdentifier.flatMap(repository.coordinator.persistentStore(with:)) {
      try context.assign(run, to: store)
    }
    run.identifier = .random()
    run.name = record.name
    run.queue = record.queue
    run.payload = record.payload
    run.priority = record.priority
    run.enqueuedDate = record.enqueuedDate
    run.dueDate = record.dueDate
    run.startedDate = record.startedDate
    run.attempts = record.attempts
    run.retryText = record.retryText
    run.failuresText = record.failuresText
    run.isCancelRequested = record.isCancelRequested
    run.checkpoint = record.checkpoint
    run.result = record.result
    run.completedUnits = record.completedUnits
    run.totalUnits = record.totalUnits
    run.scheduleName = record.scheduleName
    run.scheduleText = record.scheduleText
    run.finish(final, at: date)
    return run.handle
  }
}

extension PersistedActionRecord {
  /// Schedules the next run of a schedule's record, without the attempts and results of the last run.
  fileprivate func resume(from date: Date, by text: String) {
    attempts = 0
    failuresText = nil
    isCancelRequested = false
    checkpoint = nil
    result = nil
    completedUnits = 0
    totalUnits = 0
    startedDate = nil
    scheduleText = text
    schedule(for: date)
  }
}
