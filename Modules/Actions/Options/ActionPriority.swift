/// Which of the actions that wait in a queue goes first. Actions of one priority go in the order in which they came.
public enum ActionPriority: Int, Sendable, Hashable, CaseIterable, Comparable {
  case veryLow
  case low
  case normal
  case high
  case veryHigh

  public static func < (one: ActionPriority, other: ActionPriority) -> Bool { one.rawValue < other.rawValue }
}
