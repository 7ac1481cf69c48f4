/// The state of a ``Connect``.
///
/// ```
/// stopped ── start ──▶ starting ── started ──▶ started ── stop ──▶ stopping ── stopped ──▶ stopped
///    ▲                    │
///    └──── start failed ──┘
/// ```
///
/// ``ConnectTransition`` has these transitions as a table. The effects of calls:
///
/// | call | stopped | starting | started | stopping |
/// |---|---|---|---|---|
/// | `start` | starts | waits, then nothing | nothing, with a warning | waits for the stop, then starts |
/// | `stop` | nothing, with a warning | waits, then stops | stops | joins the stop; `.cancel` hurries it |
/// | attach | attaches | waits, then attaches and manages | attaches and manages | attaches; detached by the stop, and remembered |
/// | detach | detaches, or forgets | waits, then detaches | cancels actions, detaches | waits for the actions, detaches |
/// | execute, generic | waits for the start | waits for the start | queued | waits for the next start |
/// | execute, entity | throws | throws | queued | throws |
/// | `suspended` | may be set in any state, and is not changed by any of the above | | | |
public enum ConnectState: String, Sendable, Hashable, CaseIterable {
  /// No entity is managed. Stores may be attached.
  case stopped
  /// Stores are being attached.
  case starting
  /// The entities of the attached stores are managed, and actions run.
  case started
  /// Actions submitted now do not run; the actions accepted before are drained or cancelled. Then the stores are
  /// detached.
  case stopping
}

/// A change of a ``Connect`` from one state to another.
public enum ConnectTransition: String, Sendable, Hashable, CaseIterable {
  /// A call of `start`.
  case start
  /// Every store is attached.
  case startSucceeded
  /// A store could not be attached.
  case startFailed
  /// A call of `stop`.
  case stop
  /// The actions have finished, and the stores are detached.
  case stopFinished

  /// The states that each transition connects. No other change happens.
  public static let legal: [ConnectTransition: (from: ConnectState, to: ConnectState)] = [
    .start: (.stopped, .starting),
    .startSucceeded: (.starting, .started),
    .startFailed: (.starting, .stopped),
    .stop: (.started, .stopping),
    .stopFinished: (.stopping, .stopped),
  ]

  /// Returns the state after the transition; `nil` when the transition is not legal in the given state.
  public func target(from state: ConnectState) -> ConnectState? {
    guard let legal = Self.legal[self], legal.from == state else { return nil }
    return legal.to
  }
}
