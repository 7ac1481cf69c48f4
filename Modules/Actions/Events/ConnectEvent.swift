/// An event of a ``Connect``.
public enum ConnectEvent: Sendable {
  /// The Connect has entered another state.
  case stateChanged(ConnectState)
  /// The first attempt of an action has started. An action that never runs has this event too, directly before its end.
  case actionStarted(any ActionProxy)
  /// An attempt of an action threw, and another attempt follows after the delay. `attempt` is the number of the failed
  /// attempt; the first is 1.
  case actionWillRetry(any ActionProxy, attempt: Int, delay: Duration)
  /// An action has finished. State, status, error and statistics are final.
  case actionFinished(any ActionProxy)
}
