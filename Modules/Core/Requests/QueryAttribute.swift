public import Foundation

/// An attribute in a typed expression. Its operators return predicates.
///
/// All operators return the same type ``FetchPredicate``, so that the compiler checks long conditions quickly.
public struct QueryAttribute<Value: AttributeConvertible>: Sendable {
  let expression: FetchExpression

  /// The path of the attribute in orders and group keys.
  var path: PropertyPath {
    switch expression {
    case .path(let path): path
    case .count(let path): path.counted
    case .value, .variable, .arithmetic, .subquery:
      // The placeholder has the fetch throw with this sentence, because the operators cannot throw.
      PropertyPath(names: [
        PropertyPath.nameless("A calculation or a filtered count is no path; orders and group keys name attributes.")
      ])
    }
  }

  package init(_ expression: FetchExpression) { self.expression = expression }

  func compared(_ comparison: ComparisonOperator, _ value: Value, _ options: StringOptions = []) -> FetchPredicate {
    .comparison(expression, comparison, .value(value.attributeValue), options)
  }

  func compared<Other>(_ comparison: ComparisonOperator, _ other: QueryAttribute<Other>) -> FetchPredicate {
    .comparison(expression, comparison, other.expression)
  }

  /// Whether the value is missing.
  public var isNil: FetchPredicate { .comparison(expression, .equal, .value(.null)) }

  /// Whether the value is in a list.
  public func isIn(_ values: some Sequence<Value>) -> FetchPredicate {
    .membership(expression, in: values.map(\.attributeValue))
  }

  /// Whether lower <= value <= upper. False for a missing value.
  public func isBetween(_ lower: Value, _ upper: Value) -> FetchPredicate {
    .between(expression, .value(lower.attributeValue), .value(upper.attributeValue))
  }
}

// MARK: - Comparisons with values

extension QueryAttribute {
  /// Whether the attribute equals a value.
  public static func == (left: QueryAttribute, right: Value) -> FetchPredicate { left.compared(.equal, right) }
  /// Whether the attribute differs from a value.
  public static func != (left: QueryAttribute, right: Value) -> FetchPredicate { left.compared(.notEqual, right) }
  /// Whether the attribute is less than a value. False for a missing value.
  public static func < (left: QueryAttribute, right: Value) -> FetchPredicate { left.compared(.less, right) }
  /// Whether the attribute is less than or equal to a value. False for a missing value.
  public static func <= (left: QueryAttribute, right: Value) -> FetchPredicate { left.compared(.lessOrEqual, right) }
  /// Whether the attribute is greater than a value. False for a missing value.
  public static func > (left: QueryAttribute, right: Value) -> FetchPredicate { left.compared(.greater, right) }
  /// Whether the attribute is greater than or equal to a value. False for a missing value.
  public static func >= (left: QueryAttribute, right: Value) -> FetchPredicate { left.compared(.greaterOrEqual, right) }
}

// MARK: - Comparisons with attributes

extension QueryAttribute {
  /// Whether two attributes are equal. Missing values are equal to each other.
  public static func == (left: QueryAttribute, right: QueryAttribute) -> FetchPredicate { left.compared(.equal, right) }
  /// Whether two attributes differ.
  public static func != (left: QueryAttribute, right: QueryAttribute) -> FetchPredicate {
    left.compared(.notEqual, right)
  }
  /// Whether the first attribute is less than the second. False for a missing value.
  public static func < (left: QueryAttribute, right: QueryAttribute) -> FetchPredicate { left.compared(.less, right) }
  /// Whether the first attribute is less than or equal to the second. False for a missing value.
  public static func <= (left: QueryAttribute, right: QueryAttribute) -> FetchPredicate {
    left.compared(.lessOrEqual, right)
  }
  /// Whether the first attribute is greater than the second. False for a missing value.
  public static func > (left: QueryAttribute, right: QueryAttribute) -> FetchPredicate {
    left.compared(.greater, right)
  }
  /// Whether the first attribute is greater than or equal to the second. False for a missing value.
  public static func >= (left: QueryAttribute, right: QueryAttribute) -> FetchPredicate {
    left.compared(.greaterOrEqual, right)
  }

  /// The attribute as an optional attribute, to compare it with an optional attribute.
  public var optional: QueryAttribute<Value?> { QueryAttribute<Value?>(expression) }
}

// MARK: - Texts

/// The type of an attribute stored as text: `String`, `URL`, and their optionals.
public protocol TextAttribute: AttributeConvertible {}

extension String: TextAttribute {}
extension URL: TextAttribute {}
extension Optional: TextAttribute where Wrapped: TextAttribute {}

extension QueryAttribute where Value: TextAttribute {
  private func compared(_ comparison: ComparisonOperator, text: String, _ options: StringOptions) -> FetchPredicate {
    .comparison(expression, comparison, .value(.string(text)), options)
  }

  /// Whether the text equals a text, ignoring the differences in the options.
  public func equals(_ text: String, options: StringOptions = []) -> FetchPredicate {
    compared(.equal, text: text, options)
  }

  /// Whether the text begins with a text, ignoring the differences in the options.
  public func hasPrefix(_ text: String, options: StringOptions = []) -> FetchPredicate {
    compared(.beginsWith, text: text, options)
  }

  /// Whether the text ends with a text, ignoring the differences in the options.
  public func hasSuffix(_ text: String, options: StringOptions = []) -> FetchPredicate {
    compared(.endsWith, text: text, options)
  }

  /// Whether the text contains a text, ignoring the differences in the options.
  public func contains(_ text: String, options: StringOptions = []) -> FetchPredicate {
    compared(.contains, text: text, options)
  }

  /// Whether the whole text matches a pattern: `*` stands for any characters, `?` for one character, and a backslash
  /// makes the next character literal.
  public func like(_ pattern: String, options: StringOptions = []) -> FetchPredicate {
    compared(.like, text: pattern, options)
  }

  /// Whether the whole text matches a regular expression.
  public func matches(_ pattern: String, options: StringOptions = []) -> FetchPredicate {
    compared(.matches, text: pattern, options)
  }
}
