import CoherenceCore

extension SyncRecord {
  static func isUploaded(_ value: Bool) -> FetchPredicate { marked(isUploadedKey, value) }

  static func wasDeleted(_ value: Bool) -> FetchPredicate { marked(wasDeletedKey, value) }

  /// - Throws: ``ErrorCode/modelDoesNotFit`` when that is not kept.
  static func isKnownToServer(_ value: Bool) throws(CoherenceError) -> FetchPredicate {
    guard let key = isKnownToServerKey else {
      throw CoherenceError(
        .modelDoesNotFit,
        "'\(Self.self)' does not keep what the server knows; declare `isKnownToServerKey`, and the attribute.")
    }
    return marked(key, value)
  }

  /// A missing mark counts as `false`, which is what a record begins with.
  private static func marked(_ key: String, _ value: Bool) -> FetchPredicate {
    .comparison(.path(PropertyPath(names: [key])), value ? .equal : .notEqual, .value(.bool(true)))
  }
}
