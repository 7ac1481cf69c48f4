// Single aggregates of the records of a request.

extension ManagedObjectContext {
  /// Returns the sum of an attribute over the records that a fetch would return; 0 for no values.
  ///
  /// ```swift
  /// let seconds = try context.sum(of: \.length, for: FetchRequest(Track.self))
  /// ```
  ///
  /// - Throws: As ``fetchDictionaries(_:)``.
  public final func sum<Root: DeclaredEntity, Value>(
    of attribute: KeyPath<GroupScope<Root>, QueryAttribute<Value>>, for request: FetchRequest<Root>
  ) throws -> Value.NonOptional.Sum where Value.NonOptional: NumericAttribute {
    try value(of: request) { $0[keyPath: attribute].sum }
  }

  /// Returns the average of an attribute over the records that a fetch would return; `nil` for no values.
  ///
  /// - Throws: As ``fetchDictionaries(_:)``.
  public final func average<Root: DeclaredEntity, Value>(
    of attribute: KeyPath<GroupScope<Root>, QueryAttribute<Value>>, for request: FetchRequest<Root>
  ) throws -> Value.NonOptional.Average? where Value.NonOptional: NumericAttribute {
    try value(of: request) { $0[keyPath: attribute].average }
  }

  /// Returns the least value of an attribute among the records that a fetch would return; `nil` for no values.
  ///
  /// - Throws: As ``fetchDictionaries(_:)``.
  public final func minimum<Root: DeclaredEntity, Value>(
    of attribute: KeyPath<GroupScope<Root>, QueryAttribute<Value>>, for request: FetchRequest<Root>
  ) throws -> Value.NonOptional? {
    try value(of: request) { $0[keyPath: attribute].minimum }
  }

  /// Returns the greatest value of an attribute among the records that a fetch would return; `nil` for no values.
  ///
  /// - Throws: As ``fetchDictionaries(_:)``.
  public final func maximum<Root: DeclaredEntity, Value>(
    of attribute: KeyPath<GroupScope<Root>, QueryAttribute<Value>>, for request: FetchRequest<Root>
  ) throws -> Value.NonOptional? {
    try value(of: request) { $0[keyPath: attribute].maximum }
  }

  /// Returns the different values of a property of the records that a fetch would return, each value once, in ascending
  /// order, the missing value first.
  ///
  /// A stored value that the type of the property cannot represent, such as a raw value without a case, counts as the
  /// default value of the type.
  ///
  /// - Parameter property: An attribute, also over to-one relationships, or a to-one relationship.
  /// - Throws: As ``fetchDictionaries(_:)``.
  public final func distinctValues<Root: DeclaredEntity, Key: GroupColumn>(
    of property: KeyPath<GroupScope<Root>, Key>, for request: FetchRequest<Root>
  ) throws -> [Key.Value] {
    let column = GroupScope<Root>()[keyPath: property]
    let grouped = request.grouped { $0[keyPath: property] }
    let values = try aggregate(grouped.request).values
    return (column.isGroupKey ? values.representable(as: Key.Value.self) : values).map { column.columnValue(from: $0) }
  }

  /// Returns the number of records that a fetch would return for each value of a property.
  ///
  /// - Parameter property: An attribute, also over to-one relationships, or a to-one relationship.
  /// - Throws: As ``fetchDictionaries(_:)``.
  public final func count<Root: DeclaredEntity, Key: GroupColumn>(
    for request: FetchRequest<Root>, groupedBy property: KeyPath<GroupScope<Root>, Key>
  ) throws -> [Key.Value: Int] where Key.Value: Hashable {
    let grouped = request.grouped { ($0[keyPath: property], $0.count) }
    var counts: [Key.Value: Int] = [:]
    // Two values with different bytes may be equal in Swift, such as texts in different normal forms.
    for (value, count) in try fetchRows(grouped) { counts[value, default: 0] += count }
    return counts
  }

  /// The value of a single column of the request, computed from all records.
  private final func value<Root: DeclaredEntity, Column: GroupColumn>(
    of request: FetchRequest<Root>, _ column: (GroupScope<Root>) -> Column
  ) throws -> Column.Value {
    let column = column(GroupScope())
    let rows = try aggregate(
      AggregateRequest(
        request, propertiesToFetch: [ResultColumn(named: "value", expression: column.columnPath.description)]))
    return column.columnValue(from: rows.values.first ?? .null)
  }
}

extension [AttributeValue] {
  /// Different, ascending stored values of a column, with the default value of the column's type in place of the stored
  /// values that the type cannot represent. The result is different and ascending too.
  fileprivate func representable(as type: Any.Type) -> [AttributeValue] {
    // The key of a to-one relationship is an identifier, which has no default value.
    guard let type = type as? any AttributeConvertible.Type else { return self }
    return representable(convertedTo: type)
  }

  private func representable<Value: AttributeConvertible>(convertedTo type: Value.Type) -> [AttributeValue] {
    let representable = filter { Value(attributeValue: $0) != nil }
    guard representable.count < count else { return self }
    // The default value may belong to any position of the order.
    return Set(representable + [Value.attributeDefault.attributeValue]).sorted { $0.order(to: $1) < 0 }
  }
}
