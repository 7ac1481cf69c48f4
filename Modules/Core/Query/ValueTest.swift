/// A comparison of a value with constants, prepared before the evaluation.
@usableFromInline enum ValueTest: Sendable {
  /// The value, an integer or missing, is in a range of integers.
  case integers(ClosedRange<Int64>)
  case equals(AttributeValue)
  case differs(AttributeValue)
  /// A comparison by order with a constant other than null.
  case ordered(ComparisonOperator, AttributeValue)
  case between(AttributeValue, AttributeValue)
  /// The value is one of a few constants, found by a linear search.
  case isAmong([AttributeValue])
  /// The value is one of many constants, found by a hash lookup.
  case isIn(Set<AttributeValue>)
  /// A comparison of texts.
  case text(TextTest)
  /// The folded text is one of some folded texts.
  case foldedIsIn(Set<AttributeValue>, StringOptions)

  /// Whether a value satisfies the comparison.
  @usableFromInline func accepts(_ value: AttributeValue) throws(CoherenceError) -> Bool {
    switch self {
    case .integers(let range): value.isInteger(in: range)
    case .equals(let constant): value.isSame(as: constant)
    case .differs(let constant): !value.isSame(as: constant)
    case .ordered(let comparison, let constant): value.isOrdered(comparison, constant)
    case .between(let lower, let upper): value.isBetween(lower, upper)
    case .isAmong(let constants): constants.contains { value.isSame(as: $0) }
    case .isIn(let constants): constants.contains(value)
    case .text(let test): try test.accepts(value)
    case .foldedIsIn(let constants, let options): constants.contains(value.folded(options))
    }
  }
}

extension ValueTest {
  /// Makes the comparison with a constant; `nil` if the comparison is false for every value.
  ///
  /// - Throws: ``ErrorCode/invalidPredicate`` when a regular expression cannot be read.
  init?(_ comparison: ComparisonOperator, _ constant: AttributeValue, _ options: StringOptions)
    throws(CoherenceError)
  {
    if case .string(let text) = constant {
      self = .text(try TextTest(comparison, text, options))
      return
    }
    switch comparison {
    case .equal: self = .equals(constant)
    case .notEqual: self = .differs(constant)
    case .less, .lessOrEqual, .greater, .greaterOrEqual:
      if constant.isNull { return nil }
      self = .ordered(comparison, constant)
    case .beginsWith, .endsWith, .contains, .like, .matches: return nil
    }
  }
}

/// A comparison of two values of a record.
@usableFromInline struct Comparison: Sendable {
  let comparison: ComparisonOperator
  let options: StringOptions

  /// Whether two values satisfy the comparison. A pattern in the right value is compiled for each call.
  @usableFromInline func holds(_ left: AttributeValue, _ right: AttributeValue) throws -> Bool {
    switch comparison {
    case .equal:
      return left.folded(options).isSame(as: right.folded(options))
    case .notEqual:
      return !left.folded(options).isSame(as: right.folded(options))
    case .less, .lessOrEqual, .greater, .greaterOrEqual:
      return left.folded(options).isOrdered(comparison, right.folded(options))
    case .beginsWith, .endsWith, .contains, .like, .matches:
      guard case .string(let constant) = right else { return false }
      return try TextTest(comparison, constant, options).accepts(left)
    }
  }
}

extension AttributeValue {
  /// Whether two values are equal in predicates: null equals null, and numbers of all kinds are equal by value.
  @inlinable func isSame(as other: AttributeValue) -> Bool {
    switch (self, other) {
    case (.int(let a), .int(let b)): a == b
    case (.int, .double), (.int, .decimal), (.double, .int), (.double, .decimal), (.decimal, .int), (.decimal, .double):
      order(to: other) == 0
    default: self == other
    }
  }

  fileprivate func isInteger(in range: ClosedRange<Int64>) -> Bool {
    guard case .int(let number) = self else { return false }
    return range.contains(number)
  }

  /// Whether a comparison by order is true; false for a missing value.
  @usableFromInline func isOrdered(_ comparison: ComparisonOperator, _ other: AttributeValue) -> Bool {
    if isNull || other.isNull { return false }
    let order = order(to: other)
    return switch comparison {
    case .less: order < 0
    case .lessOrEqual: order <= 0
    case .greater: order > 0
    case .greaterOrEqual: order >= 0
    default: false
    }
  }

  /// Whether lower <= value <= upper; false for a missing value or bound.
  @usableFromInline func isBetween(_ lower: AttributeValue, _ upper: AttributeValue) -> Bool {
    isOrdered(.greaterOrEqual, lower) && isOrdered(.lessOrEqual, upper)
  }

  /// A text without the differences that the options ignore; any other value unchanged.
  func folded(_ options: StringOptions) -> AttributeValue {
    guard !options.isEmpty, case .string(let text) = self else { return self }
    return .string(text.folded(options))
  }
}
