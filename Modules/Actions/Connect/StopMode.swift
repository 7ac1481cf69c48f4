/// The treatment of unfinished actions by a stop of a ``Connect``. `stop()` without arguments cancels them.
public enum StopMode: Sendable, Hashable {
  /// The actions run to their end, in order. Actions that wait in a suspended queue cannot run, and are cancelled.
  case drain
  /// All actions are cancelled. Waiting actions finish at once, running actions at the end of their work.
  case cancel
}
