/// The priority of a waiting action within its queue. Actions of one priority begin in the order of their submissions.
public enum ActionPriority: Int, Sendable, Hashable, CaseIterable, Comparable {
  case veryLow
  case low
  case normal
  case high
  case veryHigh

  public static func < (one: ActionPriority, other: ActionPriority) -> Bool { one.rawValue < other.rawValue }
}
