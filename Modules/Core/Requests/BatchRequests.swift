/// New values for all records of an entity that satisfy a predicate, written by the store without objects.
///
/// A value; ``ManagedObjectContext/execute(_:)-(BatchUpdateRequest)`` runs it.
public struct BatchUpdateRequest: Sendable {
  /// The name of the entity in the context's model.
  public var entityName: String
  /// The condition that records must satisfy; `nil` for all records of the entity.
  public var predicate: FetchPredicate?
  /// Whether records of subentities are updated too.
  public var includesSubentities = true
  /// Whether the request fails for records of read-only stores; otherwise it leaves these records as they are.
  package var includesReadOnlyStores = true
  /// The stores whose records are updated; `nil` for all stores with the entity.
  package var storeIdentifiers: Set<StoreIdentifier>?
  /// The new values by the names of their attributes.
  public var values: [String: AttributeValue]
  /// The calculations of new values from present ones, by the names of their attributes. An attribute has a value or a
  /// calculation.
  public var expressions: [String: UpdateExpression] = [:]

  /// Makes a request with constant new values.
  ///
  /// - Parameter values: The new values by the names of their attributes; `nil` for no value.
  public init(entityName: String, predicate: FetchPredicate? = nil, values: [String: (any AttributeConvertible)?]) {
    self.entityName = entityName
    self.predicate = predicate
    self.values = values.mapValues { $0?.attributeValue ?? .null }
  }

  /// Makes a request whose new values are calculated from the present ones.
  ///
  /// - Parameter expressions: The calculations by the names of the attributes that take the results.
  public init(entityName: String, predicate: FetchPredicate? = nil, expressions: [String: UpdateExpression]) {
    self.entityName = entityName
    self.predicate = predicate
    self.values = [:]
    self.expressions = expressions
  }
}

/// A delete of all records of an entity that satisfy a predicate, made by the store without objects.
///
/// References and links to the records are cleared. Delete rules are not applied and nothing is validated: records may
/// lose the target of a required relationship, or have fewer members than their relationship requires.
public struct BatchDeleteRequest: Sendable {
  /// The name of the entity in the context's model.
  public var entityName: String
  /// The condition that records must satisfy; `nil` for all records of the entity.
  public var predicate: FetchPredicate?
  /// Whether records of subentities are deleted too.
  public var includesSubentities = true

  /// Makes a request to delete all records of an entity, or those that satisfy a predicate.
  public init(entityName: String, predicate: FetchPredicate? = nil) {
    self.entityName = entityName
    self.predicate = predicate
  }
}
