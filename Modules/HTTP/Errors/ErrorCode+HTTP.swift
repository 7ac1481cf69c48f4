public import CoherenceCore

extension ErrorCode {
  /// The status of the reply is not a success (2xx); ``HTTPFailure/status`` has it.
  public static let httpStatus = ErrorCode("httpStatus")
  /// No complete reply came: the server cannot be reached, or the connection broke.
  public static let httpTransferFailed = ErrorCode("httpTransferFailed")
  /// No complete reply came in time.
  public static let httpTimedOut = ErrorCode("httpTimedOut")
  /// The reply has an unexpected content: JSON of another shape, or pages that form no sequence.
  public static let httpUnreadable = ErrorCode("httpUnreadable")
  /// The recording of a replay has no reply to the request.
  public static let httpUnmatchedRequest = ErrorCode("httpUnmatchedRequest")
  /// A redirect, or the link to a next page, leads from `https` to `http`, to an address of another scheme than HTTP,
  /// or to a port above 65535.
  public static let httpRedirectRefused = ErrorCode("httpRedirectRefused")
  /// The body of the reply is larger than the client's limit.
  public static let httpBodyTooLarge = ErrorCode("httpBodyTooLarge")
  /// The request was redirected more often than the ``HTTPRedirectPolicy`` allows.
  public static let httpTooManyRedirects = ErrorCode("httpTooManyRedirects")
}
