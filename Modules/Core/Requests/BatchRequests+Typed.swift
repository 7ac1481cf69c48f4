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
    self.init(entityName: Root.entityName, predicate: condition.map { .typed($0) }, values: [:])
    values = batch.values
    expressions = batch.expressions
  }
}

extension BatchDeleteRequest {
  /// Makes a request to delete all records of the entity of a class, or those that satisfy a condition.
  public init<Root: DeclaredEntity>(
    _ type: Root.Type, where condition: ((QueryScope<Root>) -> FetchPredicate)? = nil
  ) {
    self.init(entityName: Root.entityName, predicate: condition.map { .typed($0) })
  }
}

/// The new values of a ``BatchUpdateRequest`` or of a claim. The key path of an attribute returns its present value,
/// for calculations.
@dynamicMemberLookup
public struct BatchChanges<Root: DeclaredEntity> {
  private(set) var values: [String: AttributeValue] = [:]
  private(set) var expressions: [String: UpdateExpression] = [:]

  init() {}

  /// Sets an attribute of all records of the request; `nil` clears an optional attribute. A later value replaces an
  /// earlier value.
  public mutating func set<Value>(_ attribute: KeyPath<Root.Properties, AttributeKey<Value>>, to value: Value) {
    set(value.attributeValue, for: Root.Properties.table[keyPath: attribute].name)
  }

  /// Sets an attribute of each record to the result of a calculation with the record's present values, such as
  /// `$0.set(\.plays, $0.plays + 1)`. See ``UpdateExpression``. Claims take no calculations.
  public mutating func set<Value>(
    _ attribute: KeyPath<Root.Properties, AttributeKey<Value>>, _ value: UpdateValue<Value>
  ) {
    set(value.expression, for: Root.Properties.table[keyPath: attribute].name)
  }

  /// The present value of an attribute in the store, as an operand of a calculation. Not the value in memory: no value
  /// is read when the request is made.
  public subscript<Value>(dynamicMember keyPath: KeyPath<Root.Properties, AttributeKey<Value>>) -> UpdateValue<Value> {
    UpdateValue(attribute: Root.Properties.table[keyPath: keyPath].name)
  }

  fileprivate mutating func set(_ value: AttributeValue, for name: String) {
    values[name] = value
    expressions[name] = nil
  }

  fileprivate mutating func set(_ expression: UpdateExpression, for name: String) {
    expressions[name] = expression
    values[name] = nil
  }
}

extension BatchChanges where Root: DeclaredSubentity {
  /// Sets an attribute of the subclass in all records of the request.
  @_disfavoredOverload
  public mutating func set<Value: AttributeConvertible>(
    _ attribute: ReferenceWritableKeyPath<Root, Value>, to value: Value
  ) {
    set(value.attributeValue, for: Root.propertyName(of: attribute))
  }
}
