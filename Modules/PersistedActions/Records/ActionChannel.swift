/// The names of the signals that workers and observers exchange.
enum ActionChannel {
  /// Actions wait, or were scheduled.
  static let due = "coherence.actions"
  /// The cancellation of a running action was requested.
  static let cancel = "coherence.actions.cancel"
  /// Actions have finished.
  static let finished = "coherence.actions.finished"
}
