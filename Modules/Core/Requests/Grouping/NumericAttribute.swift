public import Foundation

/// The type of an attribute with numbers, which can be summed and averaged.
///
/// The framework's own conformances cover the number types and `Duration`. A type of your own with numbers as its
/// stored form declares the types of its sum and of its average:
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

/// A sum is exact; out of the range of 64 bits, the fetch throws ``ErrorCode/arithmeticOverflow``.
extension Int: NumericAttribute {
  public typealias Sum = Int
  public typealias Average = Double
}

/// A sum is exact; out of the range of 64 bits, the fetch throws ``ErrorCode/arithmeticOverflow``.
extension Int64: NumericAttribute {
  public typealias Sum = Int64
  public typealias Average = Double
}

/// A sum has 64 bits, so that many values fit.
extension Int32: NumericAttribute {
  public typealias Sum = Int
  public typealias Average = Double
}

/// A sum has 64 bits, so that many values fit.
extension Int16: NumericAttribute {
  public typealias Sum = Int
  public typealias Average = Double
}

/// The last digits of a sum may differ between stores, which add the values in different orders.
extension Double: NumericAttribute {
  public typealias Sum = Double
  public typealias Average = Double
}

/// A sum and an average have the precision of a `Double`.
extension Float: NumericAttribute {
  public typealias Sum = Double
  public typealias Average = Double
}

/// A sum is exact. An average is the exact sum divided by the count, with 38 digits.
extension Decimal: NumericAttribute {
  public typealias Sum = Decimal
  public typealias Average = Decimal
}

/// A sum is exact to the nanosecond; beyond 292 years, the fetch throws ``ErrorCode/arithmeticOverflow``.
extension Duration: NumericAttribute {
  public typealias Sum = Duration
  /// The average in nanoseconds.
  public typealias Average = Double
}
