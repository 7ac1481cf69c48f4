/// What an execution runs.
enum ActionBody<Output: Sendable>: Sendable {
  /// Runs on a thread which may block.
  case blocking(@Sendable (AnyActionHandle) throws -> Output)
  /// Runs in a task of its own.
  case asynchronous(@Sendable (AnyActionHandle) async throws -> Output)
}
