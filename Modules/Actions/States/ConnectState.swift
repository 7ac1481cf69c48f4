/// Where a ``Connect`` is between stopped and started.
///
/// ```
/// stopped ── start ──▶ starting ── started ──▶ started ── stop ──▶ stopping ── stopped ──▶ stopped
///    ▲                    │
///    └──── start failed ──┘
/// ```
///
/// These are all transitions; ``ConnectTransition`` has them as a table. The effects of calls:
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
  /// No new action runs; the accepted actions are drained or canceled. Then the stores are detached.
  case stopping
}

/// What leads a ``Connect`` from one state to another.
public enum ConnectTransition: String, Sendable, Hashable, CaseIterable {
  case start
  case startSucceeded
  case startFailed
  case stop
  case stopFinished

  /// The only states between which each leads.
  public static let legal: [ConnectTransition: (from: ConnectState, to: ConnectState)] = [
    .start: (.stopped, .starting),
    .startSucceeded: (.starting, .started),
    .startFailed: (.starting, .stopped),
    .stop: (.started, .stopping),
    .stopFinished: (.stopping, .stopped),
  ]

  /// Where this leads from a state; `nil` when it does not start there.
  public func target(from state: ConnectState) -> ConnectState? {
    guard let legal = Self.legal[self], legal.from == state else { return nil }
    return legal.to
  }
}
