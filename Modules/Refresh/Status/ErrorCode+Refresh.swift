public import CoherenceCore

extension ErrorCode {
  /// Another process is refreshing the scope.
  public static let refreshInProgress = ErrorCode("refreshInProgress")
  /// A scope has no registered refresh, or two; or a page of changes has no new cursor for its next page.
  public static let invalidRefresh = ErrorCode("invalidRefresh")
}
