/// What an execution runs.
enum ActionWork: Sendable {
  /// Runs on a thread that may block.
  case blocking(@Sendable (ActionExecution) throws -> Void)
  /// Runs in a task of its own.
  case asynchronous(@Sendable (ActionExecution) async throws -> Void)
}
