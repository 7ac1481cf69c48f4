/// The state of an action between its submission and its end.
public enum ActionState: Sendable, Hashable {
  /// Not submitted yet.
  case created
  /// Waiting: in a queue, for dependencies, for a slot of a concurrency limit, for the next attempt, or for the start of
  /// the Connect.
  case pending
  /// Running an attempt.
  case executing
  /// Ended. Status, error and statistics are final.
  case finished
}
