public import CoherenceCore

extension ErrorCode {
  /// A model has no uid, or a uid that the attribute of its record cannot hold.
  public static let invalidUid = ErrorCode("invalidUid")
  /// Two models of one save have the same uid, and the save refuses duplicates.
  public static let duplicateUid = ErrorCode("duplicateUid")
  /// A model and its record do not fit: a value is missing, has another type, or belongs to another property.
  public static let modelDoesNotFit = ErrorCode("modelDoesNotFit")
}
