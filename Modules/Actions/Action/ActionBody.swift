/// A block that a submitter passes with an action, called with the handle after the end.
typealias ActionCompletion = @Sendable (any ActionProxy) -> Void

/// The work of an action.
enum ActionBody<Output: Sendable>: Sendable {
  /// Runs on a thread of its own, and may block.
  case blocking(@Sendable (AnyActionHandle) throws -> Output)
  /// Runs in a task of its own.
  case asynchronous(@Sendable (AnyActionHandle) async throws -> Output)
}
