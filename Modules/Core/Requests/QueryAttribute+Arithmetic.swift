// Arithmetic in typed expressions. ``ArithmeticOperator`` documents types, overflow and missing values.

/// The type of an attribute with integer arithmetic: integers and their optionals.
public protocol IntegerAttribute: NumberAttribute {}

extension Int: IntegerAttribute {}
extension Int16: IntegerAttribute {}
extension Int32: IntegerAttribute {}
extension Int64: IntegerAttribute {}
extension Optional: IntegerAttribute where Wrapped: IntegerAttribute {}

extension QueryAttribute {
  fileprivate func calculated(_ operation: ArithmeticOperator, _ right: FetchExpression) -> QueryAttribute {
    QueryAttribute(.arithmetic(operation, expression, right))
  }

  /// A variable, which ``FetchPredicate/substituting(_:)`` replaces by a value.
  ///
  /// ```swift
  /// let template = FetchPredicate(Album.self) { $0.year >= .variable("since") }
  /// ```
  public static func variable(_ name: String) -> QueryAttribute { QueryAttribute(.variable(name)) }
}

extension QueryAttribute where Value: NumberAttribute {
  /// The sum; a missing value for an overflow.
  public static func + (left: QueryAttribute, right: Value) -> QueryAttribute {
    left.calculated(.add, .value(right.attributeValue))
  }
  /// The sum; a missing value for an overflow.
  public static func + (left: Value, right: QueryAttribute) -> QueryAttribute {
    QueryAttribute(.value(left.attributeValue)).calculated(.add, right.expression)
  }
  /// The sum; a missing value for an overflow.
  public static func + (left: QueryAttribute, right: QueryAttribute) -> QueryAttribute {
    left.calculated(.add, right.expression)
  }
  /// The sum; a missing value for an overflow. The integer takes the other number's type.
  @_disfavoredOverload
  public static func + <Integer: IntegerAttribute>(
    left: QueryAttribute, right: QueryAttribute<Integer>
  ) -> QueryAttribute { left.calculated(.add, right.expression) }

  /// The difference; a missing value for an overflow.
  public static func - (left: QueryAttribute, right: Value) -> QueryAttribute {
    left.calculated(.subtract, .value(right.attributeValue))
  }
  /// The difference; a missing value for an overflow.
  public static func - (left: Value, right: QueryAttribute) -> QueryAttribute {
    QueryAttribute(.value(left.attributeValue)).calculated(.subtract, right.expression)
  }
  /// The difference; a missing value for an overflow.
  public static func - (left: QueryAttribute, right: QueryAttribute) -> QueryAttribute {
    left.calculated(.subtract, right.expression)
  }
  /// The difference; a missing value for an overflow. The integer takes the other number's type.
  @_disfavoredOverload
  public static func - <Integer: IntegerAttribute>(
    left: QueryAttribute, right: QueryAttribute<Integer>
  ) -> QueryAttribute { left.calculated(.subtract, right.expression) }

  /// The product; a missing value for an overflow.
  public static func * (left: QueryAttribute, right: Value) -> QueryAttribute {
    left.calculated(.multiply, .value(right.attributeValue))
  }
  /// The product; a missing value for an overflow.
  public static func * (left: Value, right: QueryAttribute) -> QueryAttribute {
    QueryAttribute(.value(left.attributeValue)).calculated(.multiply, right.expression)
  }
  /// The product; a missing value for an overflow.
  public static func * (left: QueryAttribute, right: QueryAttribute) -> QueryAttribute {
    left.calculated(.multiply, right.expression)
  }
  /// The product; a missing value for an overflow. The integer takes the other number's type.
  @_disfavoredOverload
  public static func * <Integer: IntegerAttribute>(
    left: QueryAttribute, right: QueryAttribute<Integer>
  ) -> QueryAttribute { left.calculated(.multiply, right.expression) }

  /// The quotient, truncated towards zero for integers; a missing value for the divisor zero.
  public static func / (left: QueryAttribute, right: Value) -> QueryAttribute {
    left.calculated(.divide, .value(right.attributeValue))
  }
  /// The quotient, truncated towards zero for integers; a missing value for the divisor zero.
  public static func / (left: Value, right: QueryAttribute) -> QueryAttribute {
    QueryAttribute(.value(left.attributeValue)).calculated(.divide, right.expression)
  }
  /// The quotient, truncated towards zero for integers; a missing value for the divisor zero.
  public static func / (left: QueryAttribute, right: QueryAttribute) -> QueryAttribute {
    left.calculated(.divide, right.expression)
  }
  /// The quotient, truncated towards zero for integers; a missing value for the divisor zero. The integer takes the
  /// other number's type.
  @_disfavoredOverload
  public static func / <Integer: IntegerAttribute>(
    left: QueryAttribute, right: QueryAttribute<Integer>
  ) -> QueryAttribute { left.calculated(.divide, right.expression) }

  /// The number with the opposite sign; a missing value for the least integer.
  public static prefix func - (value: QueryAttribute) -> QueryAttribute {
    QueryAttribute(.value(.int(0))).calculated(.subtract, value.expression)
  }
}

extension QueryAttribute where Value: IntegerAttribute {
  /// The remainder of a division, with the sign of the dividend; a missing value for the divisor zero.
  public static func % (left: QueryAttribute, right: Value) -> QueryAttribute {
    left.calculated(.remainder, .value(right.attributeValue))
  }
  /// The remainder of a division, with the sign of the dividend; a missing value for the divisor zero.
  public static func % (left: QueryAttribute, right: QueryAttribute) -> QueryAttribute {
    left.calculated(.remainder, right.expression)
  }
}
