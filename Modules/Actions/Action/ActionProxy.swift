public import Foundation

/// The state of a submitted action, and its cancellation. May be used from any thread.
///
/// The end of an action becomes visible in this order:
/// 1. State, status, error and statistics change at once, and never again.
/// 2. ``Connect/events`` has the event, and then `ActionDidFinishExecuting` is posted. Both follow those of the start.
/// 3. The completion blocks are called, in the order of the submissions; see ``ActionManager`` for their threads.
///
/// ``waitUntilFinished()`` and ``ActionHandle/value`` return after step 1, and do not wait for steps 2 and 3.
public protocol ActionProxy: AnyObject, Sendable {
  /// The submitted action.
  var action: any Action { get }
  /// The present state.
  var state: ActionState { get }
  /// The way in which the action ended; ``ActionCompletionStatus/canceled`` from a cancellation on.
  var completionStatus: ActionCompletionStatus { get }
  /// The error that the action threw, even if the action counts as cancelled; ``ErrorCode/timedOut``,
  /// ``ErrorCode/actionReplaced`` or ``ErrorCode/dependencyFailed`` where one of these was the reason for the end.
  var error: (any Error)? { get }
  /// The times and counts so far. They grow while the action runs, and failed and cancelled actions have them too.
  var statistics: ActionStatistics { get }

  /// The progress of the action, which the action sets by ``AnyActionHandle/current`` or ``ActionContext/progress``. Both
  /// are optional: `context.progress?.completedUnitCount += 1`.
  /// Cancelling the progress cancels the action. A cancellation of the action, and its timeout, cancel the progress.
  ///
  /// The counts may be read and written from any thread. Foundation reads the other properties without a lock on Linux:
  /// take the fraction from ``progressUpdates``, and the cancellation from ``completionStatus``. The progress cannot have
  /// children.
  var progress: Progress { get }
  /// A new stream of the present progress and of later changes, until the end of the action. A slow reader receives only
  /// the latest change.
  var progressUpdates: AsyncStream<ActionProgress> { get }

  /// Cancels the action, and notifies it by ``Action/cancel()``. A waiting action then finishes without running. A
  /// running action finishes at the end of its work; its earlier saves are kept. A finished action does not change.
  func cancel()

  /// Waits for the end of the action. Cancelling the waiting task ends the wait and not the action.
  ///
  /// - Throws: `CancellationError` when the waiting task is cancelled before the end of the action;
  ///   ``ErrorCode/deadlock`` when the caller is an action and the awaited action cannot finish before the
  ///   caller, because it is the same action, depends on the caller, or needs a queue or slot that the caller occupies.
  func waitUntilFinished() async throws
}
