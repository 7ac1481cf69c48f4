import CoherenceCore
import Foundation

/// The order and the equality of values as the documentation describes them, without the engine's comparison.
enum PlainOrder {
  /// Returns the order of two values of one type: negative, zero or positive. A missing value comes first.
  static func order(_ left: AttributeValue, _ right: AttributeValue) -> Int {
    switch (left, right) {
    case (.null, .null): 0
    case (.null, _): -1
    case (_, .null): 1
    case (.bool(let a), .bool(let b)): ordered(a ? 1 : 0, b ? 1 : 0)
    case (.int(let a), .int(let b)): ordered(a, b)
    case (.double(let a), .double(let b)): ordered(a, b)
    case (.decimal(let a), .decimal(let b)): ordered(a, b)
    case (.date(let a), .date(let b)): ordered(a.microseconds, b.microseconds)
    case (.string(let a), .string(let b)): bytes(a.utf8, b.utf8)
    case (.data(let a), .data(let b)): bytes(a, b)
    case (.uuid(let a), .uuid(let b)):
      bytes(withUnsafeBytes(of: a.uuid) { Array($0) }, withUnsafeBytes(of: b.uuid) { Array($0) })
    default: left.typeName < right.typeName ? -1 : 1
    }
  }

  private static func ordered<T: Comparable>(_ left: T, _ right: T) -> Int {
    left < right ? -1 : (left == right ? 0 : 1)
  }

  private static func bytes<Bytes: Sequence>(_ left: Bytes, _ right: Bytes) -> Int where Bytes.Element == UInt8 {
    if left.elementsEqual(right) { return 0 }
    return left.lexicographicallyPrecedes(right) ? -1 : 1
  }
}

// MARK: - Conditions

extension FetchPredicate {
  /// Whether the condition is true, for conditions without members, patterns and options.
  ///
  /// - Parameter values: Returns the value at a path.
  func isTrue(_ values: (PropertyPath) -> AttributeValue) -> Bool {
    switch self {
    case .constant(let value): return value
    case .comparison(let left, let comparison, let right, _):
      return comparison.isTrue(left.plainValue(values), right.plainValue(values))
    case .membership(let expression, let list, _):
      let value = expression.plainValue(values)
      return list.contains { PlainOrder.order($0, value) == 0 }
    case .between(let expression, let lower, let upper):
      let value = expression.plainValue(values)
      return ComparisonOperator.greaterOrEqual.isTrue(value, lower.plainValue(values))
        && ComparisonOperator.lessOrEqual.isTrue(value, upper.plainValue(values))
    case .and(let parts): return parts.allSatisfy { $0.isTrue(values) }
    case .or(let parts): return parts.contains { $0.isTrue(values) }
    case .not(let part): return !part.isTrue(values)
    case .list, .quantified: return false
    }
  }
}

extension ComparisonOperator {
  /// A missing value equals a missing value, differs from every other value, and has no order.
  fileprivate func isTrue(_ left: AttributeValue, _ right: AttributeValue) -> Bool {
    let order = PlainOrder.order(left, right)
    switch self {
    case .equal: return order == 0
    case .notEqual: return order != 0
    default: break
    }
    guard !left.isNull, !right.isNull else { return false }
    switch self {
    case .less: return order < 0
    case .lessOrEqual: return order <= 0
    case .greater: return order > 0
    case .greaterOrEqual: return order >= 0
    case .beginsWith:
      guard case .string(let text) = left, case .string(let prefix) = right else { return false }
      return text.utf8.starts(with: prefix.utf8)
    default: return false
    }
  }
}

extension FetchExpression {
  /// The value of a constant, of a path, and of a calculation with integers.
  fileprivate func plainValue(_ values: (PropertyPath) -> AttributeValue) -> AttributeValue {
    switch self {
    case .value(let value): return value
    case .path(let path): return values(path)
    case .arithmetic(let operation, let left, let right):
      guard case .int(let a) = left.plainValue(values), case .int(let b) = right.plainValue(values) else {
        return .null
      }
      return operation.plainResult(a, b).map { AttributeValue.int($0) } ?? .null
    case .count, .subquery, .variable: return .null
    }
  }
}

extension ArithmeticOperator {
  /// The result in 64 bits; `nil` for a missing result. 128 bits hold the results of all operations with 64 bits.
  fileprivate func plainResult(_ left: Int64, _ right: Int64) -> Int64? {
    let (a, b) = (Int128(left), Int128(right))
    switch self {
    case .add: return Int64(exactly: a + b)
    case .subtract: return Int64(exactly: a - b)
    case .multiply: return Int64(exactly: a * b)
    case .divide: return b == 0 ? nil : Int64(exactly: a / b)
    case .remainder: return b == 0 ? nil : Int64(exactly: a % b)
    }
  }
}
