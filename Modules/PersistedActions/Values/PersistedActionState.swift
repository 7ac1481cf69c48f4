/// The state of a persisted action.
///
/// ```
/// scheduled ── due ──▶ waiting ── claimed ──▶ running ──▶ succeeded, cancelled or parked
///     ▲                   ▲                      │
///     └─── retry later ───┴─── worker stopped ───┘
/// ```
public enum PersistedActionState: String, Codable, Sendable, Hashable, CaseIterable {
  /// The action waits for a date: it was enqueued for later, waits between two attempts, was postponed, or is the next
  /// run of a schedule. A worker moves the action to the state ``waiting`` after the date.
  case scheduled
  /// The action runs as soon as a worker is free.
  case waiting
  /// A worker has claimed the action.
  case running
  /// The action has returned without an error, or has committed its work.
  case succeeded
  /// The action was cancelled.
  case canceled
  /// The action runs again only after ``PersistedActions/retry(_:)``. It has no attempts left, its error is final, it
  /// has parked itself, its payload cannot be decoded, the worker does not know its name, or the store has refused its
  /// end.
  case parked

  /// Whether the action has finished, so that no worker runs it again by itself.
  public var isFinal: Bool {
    switch self {
    case .scheduled, .waiting, .running: false
    case .succeeded, .canceled, .parked: true
    }
  }

  /// The states of finished actions.
  static let final = allCases.filter(\.isFinal)
}
