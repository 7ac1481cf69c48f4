/// An attempt in progress.
struct RunningAction: Sendable {
  let claim: ActionClaim
  let context: PersistedActionContext
  /// Whether the stop of the worker has cancelled the attempt. An error of the attempt is no failure then, and the
  /// action waits for another worker.
  var isHandedBack = false

  /// Cancels the attempt.
  func cancel() { context.cancel() }
}
