/// A column of a grouped row in a typed expression: a group key, which is a ``QueryAttribute`` or a ``GroupTarget``, or
/// a ``QueryAggregate``.
public protocol GroupColumn: Sendable {
  /// The type of the column's values.
  associatedtype Value: Sendable
  /// The expression of the column.
  var columnPath: PropertyPath { get }
  /// Whether the column is a group key. A column with an aggregate function is not a group key.
  var isGroupKey: Bool { get }
  /// The value of the column from its stored form.
  func columnValue(from value: AttributeValue) -> Value
}

extension QueryAttribute: GroupColumn {
  /// The path to the attribute.
  public var columnPath: PropertyPath { path }
  /// `true`: the records of a group have the same value.
  public var isGroupKey: Bool { true }
  public func columnValue(from value: AttributeValue) -> Value {
    Value(attributeValue: value) ?? Value.attributeDefault
  }
}

// MARK: - Aggregates of attributes

extension QueryAttribute where Value.NonOptional: NumericAttribute {
  /// The sum of the attribute over the records of a group; 0 for no values.
  public var sum: QueryAggregate<Value.NonOptional.Sum> { QueryAggregate(.sum, path) }
  /// The average of the attribute over the records of a group; missing for no values.
  public var average: QueryAggregate<Value.NonOptional.Average?> { QueryAggregate(.average, path) }
}

extension QueryAttribute {
  /// The least value of the attribute among the records of a group; missing for no values.
  public var minimum: QueryAggregate<Value.NonOptional?> { QueryAggregate(.minimum, path) }
  /// The greatest value of the attribute among the records of a group; missing for no values.
  public var maximum: QueryAggregate<Value.NonOptional?> { QueryAggregate(.maximum, path) }
  /// The number of records of a group with a value of the attribute.
  public var count: QueryAggregate<Int> { QueryAggregate(.count, path) }
  /// The number of different values of the attribute among the records of a group.
  public var countDistinct: QueryAggregate<Int> { QueryAggregate(.countDistinct, path) }
}

/// An aggregate of the records of a group in a typed expression.
public struct QueryAggregate<Value: AttributeConvertible>: GroupColumn {
  /// The function and the path to the attribute, such as `@sum.length`.
  public let columnPath: PropertyPath
  /// `false`: the value is computed from the records of a group.
  public var isGroupKey: Bool { false }
  /// The value to return for a missing value.
  private let missing: Value

  init(_ function: AggregateFunction, _ path: PropertyPath) {
    columnPath = PropertyPath(names: [function.pathOperator] + path.names)
    // Without values a store returns the sum 0. A missing sum stands for infinities of both signs, which have no sum.
    missing = function == .sum ? Double.nan as? Value ?? Value.attributeDefault : Value.attributeDefault
  }

  public func columnValue(from value: AttributeValue) -> Value { Value(attributeValue: value) ?? missing }

  private func compared(_ comparison: ComparisonOperator, _ value: Value) -> FetchPredicate {
    .comparison(.path(columnPath), comparison, .value(value.attributeValue))
  }

  private func compared(_ comparison: ComparisonOperator, _ other: QueryAggregate) -> FetchPredicate {
    .comparison(.path(columnPath), comparison, .path(other.columnPath))
  }

  /// Whether the value is missing.
  public var isNil: FetchPredicate { .comparison(.path(columnPath), .equal, .value(.null)) }

  /// Whether lower <= value <= upper. False for a missing value.
  public func isBetween(_ lower: Value, _ upper: Value) -> FetchPredicate {
    .between(.path(columnPath), .value(lower.attributeValue), .value(upper.attributeValue))
  }
}

extension QueryAggregate {
  /// Whether the aggregate equals a value.
  public static func == (left: QueryAggregate, right: Value) -> FetchPredicate { left.compared(.equal, right) }
  /// Whether the aggregate differs from a value.
  public static func != (left: QueryAggregate, right: Value) -> FetchPredicate { left.compared(.notEqual, right) }
  /// Whether the aggregate is less than a value. False for a missing aggregate.
  public static func < (left: QueryAggregate, right: Value) -> FetchPredicate { left.compared(.less, right) }
  /// Whether the aggregate is less than or equal to a value. False for a missing aggregate.
  public static func <= (left: QueryAggregate, right: Value) -> FetchPredicate { left.compared(.lessOrEqual, right) }
  /// Whether the aggregate is greater than a value. False for a missing aggregate.
  public static func > (left: QueryAggregate, right: Value) -> FetchPredicate { left.compared(.greater, right) }
  /// Whether the aggregate is greater than or equal to a value. False for a missing aggregate.
  public static func >= (left: QueryAggregate, right: Value) -> FetchPredicate { left.compared(.greaterOrEqual, right) }

  /// Whether two aggregates of a group are equal.
  public static func == (left: QueryAggregate, right: QueryAggregate) -> FetchPredicate { left.compared(.equal, right) }
  /// Whether the first aggregate is less than the second. False for a missing aggregate.
  public static func < (left: QueryAggregate, right: QueryAggregate) -> FetchPredicate { left.compared(.less, right) }
  /// Whether the first aggregate is greater than the second. False for a missing aggregate.
  public static func > (left: QueryAggregate, right: QueryAggregate) -> FetchPredicate {
    left.compared(.greater, right)
  }
}
