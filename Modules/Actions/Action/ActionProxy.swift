public import Foundation

/// The state of a submitted action. May be asked from any thread, and always shows one consistent state.
///
/// What becomes known when an action finished, in this order:
/// 1. State, status, error and statistics change, all at once, and permanently.
/// 2. ``Connect/events`` has the event, and then `ActionDidFinishExecuting` is posted; both after those of the start.
/// 3. The completion blocks are called, in the order of the submissions; see ``ActionManager`` for their threads.
///
/// ``waitUntilFinished()`` and ``ActionHandle/value`` return after 1, and do not wait for 2 or 3.
public protocol ActionProxy: AnyObject, Sendable {
  var action: any Action { get }
  var state: ActionState { get }
  var completionStatus: ActionCompletionStatus { get }
  /// What the action threw, even when it counts as canceled.
  var error: (any Error)? { get }
  /// Times and counts up to now; they grow while the action runs, and are there for failed and canceled actions too.
  var statistics: ActionStatistics { get }

  /// How far the action is. The action sets it, by way of ``AnyActionHandle/current`` or ``ActionContext/progress``; to
  /// cancel the progress is to cancel the action. Its counts may be read and written from any thread. The rest, Foundation reads
  /// without a lock on Linux: take the fraction from ``progressUpdates``, and ask the proxy whether it was canceled.
  /// Children cannot be added to it.
  var progress: Progress { get }
  /// How far the action is: the present state, then the latest of the changes since the last look, until the action
  /// finished. Every access makes a sequence of its own.
  var progressUpdates: AsyncStream<ActionProgress> { get }

  /// Asks the action to end early. One that waits is taken out of its queue and finishes at once, without running; one
  /// that runs is asked through ``Action/cancel()``, and finishes when it has ended. What it saved stays saved. Once
  /// finished, nothing changes any more.
  func cancel()

  /// Waits until the action finished. Canceling the task that waits ends the waiting, and not the action.
  ///
  /// - Throws: `CancellationError` when the task that waits is canceled before the action finished;
  ///   ``ErrorCode/actionWaitsForItself`` when an action calls this, and the awaited one cannot begin or end
  ///   before the caller has: it is the same action, or waits for a place that the caller holds.
  func waitUntilFinished() async throws
}

/// Where an action is on its way.
public enum ActionState: Sendable, Hashable {
  /// Not submitted yet.
  case created
  /// Waiting: in its queue, for the actions that it depends on, for a concurrency limit, for its next attempt, or for
  /// the start of the Connect.
  case pending
  case executing
  case finished
}

/// How an action ended.
public enum ActionCompletionStatus: Sendable, Hashable {
  /// It did not end yet.
  case unknown
  case successful
  /// It was canceled before its end, whether it succeeded or failed then.
  case canceled
  case failed
}
