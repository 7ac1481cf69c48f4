import CoherenceCore
import Foundation

/// An action that a worker has claimed: a copy of the record's values that the attempt needs, because the record may be
/// used in its context only.
struct ActionClaim: Sendable, Identifiable {
  /// Distinguishes two claims of one record by one worker. When another worker has taken an action over and failed,
  /// this worker can claim the action a second time, while its own first attempt still runs.
  struct ID: Hashable {
    let recordID: ManagedObjectID
    let lease: UUID
  }

  var id: ID { ID(recordID: recordID, lease: lease) }

  let recordID: ManagedObjectID
  /// The token of the claim. A record with another token belongs to another worker, or to a later claim.
  let lease: UUID
  let handle: PersistedActionHandle
  let queue: String
  let payload: Data
  /// The number of the attempt; the first is 1.
  let attempt: Int
  /// The checkpoint that the last attempt has saved; `nil` without one.
  let checkpoint: Data?
  let enqueuedDate: Date
  let dueDate: Date
  /// The name of the schedule of which the action is a run; `nil` for any other action.
  let scheduleName: String?
  /// Whether this run of a schedule was cancelled before the claim. The worker then ends the run without an attempt, and
  /// the action waits for its next date.
  let isCancelRequested: Bool

  /// Makes a claim of a record in its context.
  init(_ record: PersistedActionRecord, lease: UUID) {
    recordID = record.objectID
    self.lease = lease
    handle = record.handle
    queue = record.queue
    payload = record.payload
    attempt = record.nextAttempt
    checkpoint = record.checkpoint
    enqueuedDate = record.enqueuedDate
    dueDate = record.dueDate
    scheduleName = record.scheduleName
    isCancelRequested = record.isCancelRequested
  }
}

/// The progress that an action has reported.
struct ReportedProgress: Sendable, Hashable {
  var completed: Int64
  var total: Int64
}

/// The end of an attempt, which the worker saves.
struct EndedAttempt: Sendable {
  /// The result of the attempt, which decides the next state of the action.
  enum Outcome: Sendable {
    case succeeded(result: Data?)
    /// The attempt failed. A retryable error leads to another attempt until the retry policy has no attempts left.
    case failed(text: String, isRetryable: Bool, delay: Delay)
    /// The action runs again at a date, and the attempt does not count.
    case postponed(until: Date)
    /// The action waits for a person or the program; the text is its failure.
    case parked(text: String)
    /// The worker stops. The action waits for any worker, and the attempt does not count.
    case handedBack
  }

  /// The delay before the next attempt.
  enum Delay: Sendable {
    /// The delay of the retry policy, or the given delay, whichever is longer.
    case policy(atLeast: Duration)
    case exactly(Duration)
  }

  let claim: ActionClaim
  var outcome: Outcome
  let progress: ReportedProgress?
  /// The retry policy of the action's type. A policy in the action's record precedes it.
  let retry: PersistedRetry

  /// The store of the action.
  var store: StoreIdentifier? { claim.recordID.storeIdentifier }
}
