/// The unique values that two records of a refused save would share.
///
/// A value: it may be passed to any thread. Its values are those of records, so that it does not belong into a log.
public struct UniquenessViolation: Sendable, Hashable {
  /// An entity with the uniqueness constraint.
  public let entityName: String
  /// The properties of the constraint, in the order of its declaration.
  public let propertyNames: [String]
  /// The values of the properties, in the same order; identifiers for relationships.
  public let values: [AttributeValue]

  /// Makes a violation, for stores and for tests.
  public init(entityName: String, propertyNames: [String], values: [AttributeValue]) {
    self.entityName = entityName
    self.propertyNames = propertyNames
    self.values = values
  }
}

extension CoherenceError {
  /// The error of a save that would make two records equal, for stores.
  ///
  /// - Parameter objectIDs: The refused record, and the other record with the values if it is known.
  package static func uniquenessViolated(
    _ violation: UniquenessViolation, _ objectIDs: [ManagedObjectID]
  ) -> CoherenceError {
    let names = violation.propertyNames.map { "'\($0)'" }.joined(separator: ", ")
    var error = CoherenceError(
      .uniquenessViolated,
      "Two records of '\(violation.entityName)' would be equal in \(names); change one of them, or change the stored "
        + "record instead.")
    error.objectIDs = objectIDs
    error.uniqueness = violation
    return error
  }
}
