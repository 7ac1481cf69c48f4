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
  /// Other work on the stores of the Connect has advanced: the forwarding of an outbox, a persisted action, a refresh.
  /// A cast leads to the event of the module, such as `OutboxEvent`, `PersistedActionEvent` or `RefreshEvent`.
  case work(any ConnectWorkEvent)
}

/// An event of work on the stores of a ``Connect`` beside its own actions, for ``ConnectEvent/work(_:)``.
///
/// The name and the subject have no values of records.
public protocol ConnectWorkEvent: Sendable {
  /// The name of the event: the kind of work, a period, and the step, for example `outbox.parked`.
  var workName: String { get }
  /// The entity or the action that the event is about; `nil` for an event about all of the work.
  var workSubject: String? { get }
}
