import CoherenceCore

extension SyncRecord {
  /// The condition for records with or without the mark "uploaded".
  static func isUploaded(_ value: Bool) -> FetchPredicate { marked(isUploadedKey, value) }

  /// The condition for records with or without the mark "deleted".
  static func wasDeleted(_ value: Bool) -> FetchPredicate { marked(wasDeletedKey, value) }

  /// The condition for records that the server has, or does not have.
  ///
  /// - Throws: ``ErrorCode/modelDoesNotFit`` for a class without the attribute.
  static func isKnownToServer(_ value: Bool) throws(CoherenceError) -> FetchPredicate {
    guard let key = isKnownToServerKey else {
      throw CoherenceError(
        .modelDoesNotFit,
        "'\(Self.self)' has no attribute that tells whether the server has a record; declare `isKnownToServerKey`, and add "
          + "the attribute to the entity.")
    }
    return marked(key, value)
  }

  /// A missing mark counts as `false`, the default.
  private static func marked(_ key: String, _ value: Bool) -> FetchPredicate {
    .comparison(.path(PropertyPath(names: [key])), value ? .equal : .notEqual, .value(.bool(true)))
  }
}
