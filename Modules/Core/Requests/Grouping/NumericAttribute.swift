public import Foundation

/// The type of an attribute with numbers, which can be summed and averaged.
///
/// The framework's own conformances cover the number types and `Duration`. Another type that is stored as a number
/// declares the types of its sum and of its average:
///
/// ```swift
/// extension Percent: NumericAttribute {
///   typealias Sum = Int
///   typealias Average = Double
/// }
/// ```
public protocol NumericAttribute: AttributeConvertible {
  /// The type of a sum: a type stored as a 64-bit integer for integers, as a double for floating-point numbers, as a
  /// decimal for decimals.
  associatedtype Sum: AttributeConvertible
  /// The type of an average: a type stored as a decimal for decimals, as a double for other numbers.
  associatedtype Average: AttributeConvertible
}

extension Int: NumericAttribute {
  public typealias Sum = Int
  public typealias Average = Double
}

extension Int64: NumericAttribute {
  public typealias Sum = Int64
  public typealias Average = Double
}

extension Int32: NumericAttribute {
  public typealias Sum = Int
  public typealias Average = Double
}

extension Int16: NumericAttribute {
  public typealias Sum = Int
  public typealias Average = Double
}

extension Double: NumericAttribute {
  public typealias Sum = Double
  public typealias Average = Double
}

extension Float: NumericAttribute {
  public typealias Sum = Double
  public typealias Average = Double
}

extension Decimal: NumericAttribute {
  public typealias Sum = Decimal
  public typealias Average = Decimal
}

extension Duration: NumericAttribute {
  public typealias Sum = Duration
  /// The average in nanoseconds.
  public typealias Average = Double
}
