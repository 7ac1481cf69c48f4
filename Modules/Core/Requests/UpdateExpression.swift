public import Foundation

/// A new value of an attribute, computed from each record's present values.
///
/// Typed requests use operators: `$0.set(\.plays, $0.plays + 1)`. The meaning is the same on every store:
///
/// - A missing operand makes the result missing. A missing result of a required attribute throws
///   ``ErrorCode/missingValue``.
/// - Integers are exact. A result out of the attribute's range, or an intermediate result out of 64 bits, throws
///   ``ErrorCode/invalidValue``, and no record is changed.
/// - Binary numbers follow IEEE 754, and a `float` attribute rounds only the final result. A finite calculation without
///   a finite result throws ``ErrorCode/invalidValue``.
/// - Decimals have 38 digits, rounded half away from zero. An overflow throws ``ErrorCode/invalidValue``.
/// - The sum of two texts is the first text followed by the second.
/// - Operations may have 200 levels. A deeper expression throws ``ErrorCode/limitExceeded``, and no record is changed.
public indirect enum UpdateExpression: Sendable, Hashable {
  /// A constant.
  case value(AttributeValue)
  /// The record's present value of an attribute of the updated entity.
  case attribute(String)
  /// The sum of two numbers, or the first text followed by the second.
  case sum(UpdateExpression, UpdateExpression)
  /// The first number minus the second.
  case difference(UpdateExpression, UpdateExpression)
  /// The product of two numbers.
  case product(UpdateExpression, UpdateExpression)

  /// The greatest depth of nested operations, as of conditions.
  static let greatestDepth = FetchPredicate.greatestDepth
}

/// An attribute in the typed expression of a new value.
public struct UpdateValue<Value: AttributeConvertible>: Sendable {
  let expression: UpdateExpression

  fileprivate init(_ expression: UpdateExpression) { self.expression = expression }
  init(attribute name: String) { expression = .attribute(name) }
}

/// The type of an attribute with arithmetic: integers, binary and decimal numbers, and their optionals.
public protocol NumberAttribute: AttributeConvertible {}

extension Int: NumberAttribute {}
extension Int16: NumberAttribute {}
extension Int32: NumberAttribute {}
extension Int64: NumberAttribute {}
extension Float: NumberAttribute {}
extension Double: NumberAttribute {}
extension Decimal: NumberAttribute {}
extension Optional: NumberAttribute where Wrapped: NumberAttribute {}

extension UpdateValue where Value: NumberAttribute {
  /// The sum of the attribute and a number.
  public static func + (left: UpdateValue, right: Value) -> UpdateValue {
    UpdateValue(.sum(left.expression, .value(right.attributeValue)))
  }
  /// The sum of a number and the attribute.
  public static func + (left: Value, right: UpdateValue) -> UpdateValue {
    UpdateValue(.sum(.value(left.attributeValue), right.expression))
  }
  /// The sum of two attributes.
  public static func + (left: UpdateValue, right: UpdateValue) -> UpdateValue {
    UpdateValue(.sum(left.expression, right.expression))
  }
  /// The attribute minus a number.
  public static func - (left: UpdateValue, right: Value) -> UpdateValue {
    UpdateValue(.difference(left.expression, .value(right.attributeValue)))
  }
  /// A number minus the attribute.
  public static func - (left: Value, right: UpdateValue) -> UpdateValue {
    UpdateValue(.difference(.value(left.attributeValue), right.expression))
  }
  /// The first attribute minus the second.
  public static func - (left: UpdateValue, right: UpdateValue) -> UpdateValue {
    UpdateValue(.difference(left.expression, right.expression))
  }
  /// The product of the attribute and a number.
  public static func * (left: UpdateValue, right: Value) -> UpdateValue {
    UpdateValue(.product(left.expression, .value(right.attributeValue)))
  }
  /// The product of a number and the attribute.
  public static func * (left: Value, right: UpdateValue) -> UpdateValue {
    UpdateValue(.product(.value(left.attributeValue), right.expression))
  }
  /// The product of two attributes.
  public static func * (left: UpdateValue, right: UpdateValue) -> UpdateValue {
    UpdateValue(.product(left.expression, right.expression))
  }
}

extension UpdateValue where Value: TextAttribute {
  /// The text followed by another text.
  public static func + (left: UpdateValue, right: String) -> UpdateValue {
    UpdateValue(.sum(left.expression, .value(.string(right))))
  }
  /// A text followed by the attribute's text.
  public static func + (left: String, right: UpdateValue) -> UpdateValue {
    UpdateValue(.sum(.value(.string(left)), right.expression))
  }
  /// The text followed by another attribute's text.
  public static func + (left: UpdateValue, right: UpdateValue) -> UpdateValue {
    UpdateValue(.sum(left.expression, right.expression))
  }
}
