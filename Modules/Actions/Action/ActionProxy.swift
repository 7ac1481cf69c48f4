/// What is known of an action that was submitted. May be asked from any thread, and always answers one consistent state.
public protocol ActionProxy: AnyObject, Sendable {
  var action: any Action { get }
  var state: ActionState { get }
  var completionStatus: ActionCompletionStatus { get }
  /// What the action threw, even when it counts as canceled.
  var error: (any Error)? { get }
  /// Times and counts up to now; they grow while the action runs, and are there for failed and canceled actions too.
  var statistics: ActionStatistics { get }

  /// Asks the action to end early. One that waits is taken out of its queue and finishes at once, without running; one
  /// that runs is asked through ``Action/cancel()``. What it saved stays saved. Once finished, nothing changes any more.
  func cancel()

  /// Waits until the action finished.
  func waitUntilFinished() async
}

/// Where an action is on its way.
public enum ActionState: Sendable, Hashable {
  /// Not submitted yet.
  case created
  /// Waiting in its queue.
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
