/// The way in which an action ended.
public enum ActionCompletionStatus: Sendable, Hashable {
  /// The action has not ended and was not cancelled.
  case unknown
  /// The action returned.
  case successful
  /// The action was cancelled before its end, whether it then returned or threw. An action has this status from the
  /// cancellation on.
  case canceled
  /// The action threw, exceeded its timeout, or never ran because a dependency did not succeed.
  case failed
}
