/// The names of the store's signals by which transactions wake workers and observers.
enum ActionChannel {
  /// Actions were enqueued, wait again, or have a new date.
  static let due = "coherence.actions"
  /// The cancellation of a running action was requested.
  static let cancel = "coherence.actions.cancel"
  /// Actions have finished.
  static let finished = "coherence.actions.finished"
}
