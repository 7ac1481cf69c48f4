/// The state of a persisted action.
///
/// ```
/// scheduled ── due ──▶ waiting ── claimed ──▶ running ──▶ succeeded, canceled or parked
///     ▲                   ▲                      │
///     └─── retry later ───┴─── worker stopped ───┘
/// ```
public enum PersistedActionState: String, Codable, Sendable, Hashable, CaseIterable {
  /// Has a date in the future: enqueued for later, or between two attempts.
  case scheduled
  /// Runs as soon as a worker is free.
  case waiting
  /// Claimed by a worker.
  case running
  /// Has returned, or has committed its work.
  case succeeded
  /// Was canceled.
  case canceled
  /// Will not run again by itself: its attempts are used up, its error is final, its payload cannot be decoded, or no
  /// program knows its name. ``PersistedActions/retry(_:)`` has it run again.
  case parked

  /// Whether the action will not run again by itself.
  public var isFinal: Bool {
    switch self {
    case .scheduled, .waiting, .running: false
    case .succeeded, .canceled, .parked: true
    }
  }

  /// The states that are final.
  static let final = allCases.filter(\.isFinal)
}
