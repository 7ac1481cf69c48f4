extension BatchUpdateRequest {
  /// Makes a request to update all records of the entity of a class, or those that satisfy a condition.
  ///
  /// ```swift
  /// BatchUpdateRequest(Track.self, where: { $0.length == nil }) { $0.set(\.length, to: 0) }
  /// ```
  public init<Root: DeclaredEntity>(
    _ type: Root.Type, where condition: ((QueryScope<Root>) -> FetchPredicate)? = nil,
    changes: (inout BatchChanges<Root>) -> Void
  ) {
    var batch = BatchChanges<Root>()
    changes(&batch)
    self.init(entityName: Root.entityName, predicate: condition.map { $0(QueryScope()) }, values: [:])
    values = batch.values
  }
}

extension BatchDeleteRequest {
  /// Makes a request to delete all records of the entity of a class, or those that satisfy a condition.
  public init<Root: DeclaredEntity>(
    _ type: Root.Type, where condition: ((QueryScope<Root>) -> FetchPredicate)? = nil
  ) {
    self.init(entityName: Root.entityName, predicate: condition.map { $0(QueryScope()) })
  }
}

/// The new values of a ``BatchUpdateRequest`` or of a claim.
public struct BatchChanges<Root: DeclaredEntity> {
  private(set) var values: [String: AttributeValue] = [:]

  init() {}

  /// Sets an attribute of all records of the request; `nil` clears an optional attribute. A later value replaces an
  /// earlier value.
  public mutating func set<Value>(_ attribute: KeyPath<Root.Properties, AttributeKey<Value>>, to value: Value) {
    values[Root.Properties.table[keyPath: attribute].name] = value.attributeValue
  }
}

extension BatchChanges where Root: DeclaredSubentity {
  /// Sets an attribute of the subclass in all records of the request.
  @_disfavoredOverload
  public mutating func set<Value: AttributeConvertible>(
    _ attribute: ReferenceWritableKeyPath<Root, Value>, to value: Value
  ) {
    values[Root.propertyName(of: attribute)] = value.attributeValue
  }
}
