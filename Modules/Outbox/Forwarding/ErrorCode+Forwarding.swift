public import CoherenceCore

extension ErrorCode {
  /// The entity of an edit has no handler for the kind of the edit.
  public static let forwardUnhandled = ErrorCode("forwardUnhandled")
  /// A batch handler returned no decision of the server for an edit.
  public static let forwardUnanswered = ErrorCode("forwardUnanswered")
  /// The server's record differs from the values on which an edit is based.
  public static let forwardConflict = ErrorCode("forwardConflict")
}
