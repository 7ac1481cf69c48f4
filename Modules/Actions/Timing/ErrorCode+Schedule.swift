public import CoherenceCore

extension ErrorCode {
  /// The text of a cron expression is invalid; the message has the position of the fault. See
  /// ``Schedule/cron(_:timeZone:jitter:)``.
  public static let invalidSchedule = ErrorCode("invalidSchedule")
}
