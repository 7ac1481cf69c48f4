extension CoherenceError {
  /// Whether the error says that a record does not exist any more, or that the context has deleted the record. Any
  /// other error of a read leaves open whether the record exists.
  var isOfMissingRecord: Bool { code == .objectNotFound || code == .objectDeleted }
}
