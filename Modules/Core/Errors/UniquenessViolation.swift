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
