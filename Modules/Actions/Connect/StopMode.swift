/// How unfinished actions are treated when a ``Connect`` is stopped: canceled by `stop()` without arguments.
public enum StopMode: Sendable, Hashable {
  /// They run to their end, in order. Those that wait while the Connect is suspended are canceled, for they cannot run.
  case drain
  /// Those that wait are canceled; those that run are asked to end.
  case cancel
}
