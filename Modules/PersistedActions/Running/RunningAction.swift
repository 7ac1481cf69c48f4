/// An attempt in progress.
struct RunningAction: Sendable {
  let claim: ActionClaim
  let context: PersistedActionContext
  /// Whether the action waits again when it ends with an error, because its worker stops.
  var isHandedBack = false

  /// Requests the end of the attempt.
  func cancel() { context.cancel() }
}
