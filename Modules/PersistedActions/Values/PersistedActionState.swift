/// The state of a persisted action.
///
/// ```
/// scheduled ── due ──▶ waiting ── claimed ──▶ running ──▶ succeeded, cancelled or parked
///     ▲                   ▲                      │
///     └─── retry later ───┴─── worker stopped ───┘
/// ```
public enum PersistedActionState: String, Codable, Sendable, Hashable, CaseIterable {
  /// The action has a date in the future: it was enqueued for later, or waits between two attempts.
  case scheduled
  /// The action runs as soon as a worker is free.
  case waiting
  /// A worker has claimed the action.
  case running
  /// The action has returned without an error, or has committed its work.
  case succeeded
  /// The action was cancelled.
  case canceled
  /// The action runs again only after ``PersistedActions/retry(_:)``. It has no attempts left, its error is final, its
  /// payload cannot be decoded, or the worker does not know its name.
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
