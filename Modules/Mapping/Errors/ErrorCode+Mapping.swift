public import CoherenceCore

extension ErrorCode {
  /// A model has no uid, or one that its record's attribute cannot hold.
  public static let invalidUid = ErrorCode("invalidUid")
  /// Two models of one save have the same uid, and the save was told to refuse that.
  public static let duplicateUid = ErrorCode("duplicateUid")
  /// A model and its record do not fit: a value is missing, of another type, or not where it should be.
  public static let modelDoesNotFit = ErrorCode("modelDoesNotFit")
}
