public import CoherenceActions
public import CoherenceCore
public import Foundation

/// A copy of the stored values of a persisted action at one time.
public struct PersistedActionInfo: Sendable, Identifiable, Hashable {
  /// The handle of the action.
  public let handle: PersistedActionHandle
  /// The identifier of the action's record.
  public let recordID: ManagedObjectID
  /// The queue.
  public let queue: String
  /// The priority among the waiting actions of the queue.
  public let priority: ActionPriority
  /// The state.
  public let state: PersistedActionState
  /// The date at which the action was enqueued, by the clock of the program that enqueued it.
  public let enqueuedDate: Date
  /// The date from which the action may run.
  public let dueDate: Date
  /// The start of the latest attempt; `nil` before the first.
  public let startedDate: Date?
  /// The end of a finished action; `nil` for an unfinished one.
  public let finishedDate: Date?
  /// The number of failed attempts, including attempts whose worker stopped.
  public let failedAttempts: Int
  /// The latest failures, the oldest first; at most ten.
  public let failures: [PersistedActionFailure]
  /// The latest stored progress; `nil` if the action has reported no progress.
  public let progress: ActionProgress?
  /// Whether the cancellation of a running action, or of the next run of a schedule, was requested.
  public let isCancelRequested: Bool
  /// Whether the action has a result.
  public let hasResult: Bool
  /// Whether the action has saved a checkpoint.
  public let hasCheckpoint: Bool
  /// The name of the action's schedule; `nil` without a schedule.
  public let scheduleName: String?
  /// The text of the action's schedule.
  public let scheduleText: String?
  /// The identifier of the worker of a running action; `nil` in other states.
  public let worker: UUID?

  /// The identifier of the action.
  public var id: UUID { handle.id }

  init(_ record: PersistedActionRecord) {
    handle = record.handle
    recordID = record.objectID
    queue = record.queue
    priority = record.actionPriority
    state = record.state
    enqueuedDate = record.enqueuedDate
    dueDate = record.dueDate
    startedDate = record.startedDate
    finishedDate = record.finishedDate
    failedAttempts = record.attempts
    failures = record.failures
    let (completed, total) = (record.completedUnits, record.totalUnits)
    progress =
      completed == 0 && total == 0 ? nil : ActionProgress(completedUnitCount: completed, totalUnitCount: total)
    isCancelRequested = record.isCancelRequested
    hasResult = record.result != nil
    hasCheckpoint = record.checkpoint != nil
    scheduleName = record.scheduleName
    scheduleText = record.scheduleText
    worker = record.worker
  }
}
