/// The priority of a waiting action within its queue. Actions of one priority begin in the order of their submissions.
public enum ActionPriority: Int, Sendable, Hashable, CaseIterable, Comparable {
  /// Begins after all other waiting actions.
  case veryLow
  /// Begins after actions of normal priority.
  case low
  /// The default.
  case normal
  /// Begins before actions of normal priority.
  case high
  /// Begins before all other waiting actions.
  case veryHigh

  public static func < (one: ActionPriority, other: ActionPriority) -> Bool { one.rawValue < other.rawValue }
}
