/// What happened in a ``Connect``.
public enum ConnectEvent: Sendable {
  /// The Connect is in another state.
  case stateChanged(ConnectState)
  /// An action began, at its first attempt. An action that never runs has this event too, before its end.
  case actionStarted(any ActionProxy)
  /// An action threw, and is run again after the delay. The attempt is the one that failed; the first is 1.
  case actionWillRetry(any ActionProxy, attempt: Int, delay: Duration)
  /// An action finished. State and status are final.
  case actionFinished(any ActionProxy)
}
