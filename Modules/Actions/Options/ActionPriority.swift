/// Which of the waiting actions in a queue begins first. Actions of one priority begin in the order in which they came.
public enum ActionPriority: Int, Sendable, Hashable, CaseIterable, Comparable {
  case veryLow
  case low
  case normal
  case high
  case veryHigh

  public static func < (one: ActionPriority, other: ActionPriority) -> Bool { one.rawValue < other.rawValue }
}
