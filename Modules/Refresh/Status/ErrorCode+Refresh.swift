public import CoherenceCore

extension ErrorCode {
  /// Another process refreshes the scope at the moment.
  public static let refreshInProgress = ErrorCode("refreshInProgress")
  /// The entity and scope have no registered refresh, or have one already.
  public static let invalidRefresh = ErrorCode("invalidRefresh")
}
