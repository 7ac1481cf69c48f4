// Checks the parts of expressions: operands of arithmetic and conditions on members.

extension PredicateChecker {
  /// Returns an expression in resolved form: constants beside numbers of another type are converted, calculations of
  /// constants are replaced by their results, and conditions on members are resolved.
  ///
  /// - Throws: ``ErrorCode/unknownProperty`` and ``ErrorCode/invalidPredicate``, as checking a predicate does.
  func resolved(_ expression: FetchExpression) throws(CoherenceError) -> FetchExpression {
    switch expression {
    case .value, .path, .count, .variable:
      return expression
    case .arithmetic(let operation, let left, let right):
      return try calculated(operation, try resolved(left), try resolved(right))
    case .subquery(let path, let condition):
      guard case .toMany(let relationship) = try resolve(path).target else {
        throw CoherenceError(
          .invalidPredicate,
          "'\(path)' is not a to-many relationship; SUBQUERY counts the members of a to-many relationship.")
      }
      return .subquery(path, try condition.resolved(by: members(of: relationship)))
    }
  }

  /// Returns the calculation with two resolved operands in resolved form; for constants, its result.
  private func calculated(
    _ operation: ArithmeticOperator, _ left: FetchExpression, _ right: FetchExpression
  ) throws(CoherenceError) -> FetchExpression {
    let (first, second) = (try number(left, operation), try number(right, operation))
    // A missing operand makes every result missing.
    if left == .value(.null) || right == .value(.null) { return .value(.null) }
    let (left, right) = (left.widened(to: second), right.widened(to: first))
    let arithmetic = try arithmetic(operation, left, right)
    if case .value(let first) = left, case .value(let second) = right {
      return .value(arithmetic.value(first, second))
    }
    return .arithmetic(operation, left, right)
  }

  /// The calculation of resolved operands.
  ///
  /// - Throws: ``ErrorCode/invalidPredicate`` for operands other than numbers, and for types without a common type.
  func arithmetic(
    _ operation: ArithmeticOperator, _ left: FetchExpression, _ right: FetchExpression
  ) throws(CoherenceError) -> Arithmetic {
    let (first, second) = (try number(left, operation), try number(right, operation))
    if let arithmetic = Arithmetic(operation, first, second) { return arithmetic }
    let (left, right) = (label(left, .number(first.storage)), label(right, .number(second.storage)))
    let reason =
      operation == .remainder
      ? "the remainder is defined for integers only"
      : "a decimal and a floating-point number have no common type"
    throw CoherenceError(
      .invalidPredicate, "'\(operation.symbol)' cannot be applied to \(left) and \(right): \(reason).")
  }

  /// The type of an operand. The missing value counts as an integer.
  private func number(
    _ expression: FetchExpression, _ operation: ArithmeticOperator
  ) throws(CoherenceError) -> Arithmetic.Number {
    guard let kind = try kind(of: expression) else { return .integer }
    if case .number(let storage) = kind, let number = Arithmetic.Number(storage) { return number }
    throw CoherenceError(
      .invalidPredicate, "'\(operation.symbol)' calculates with numbers; \(label(expression, kind)) is not a number.")
  }
}

extension FetchExpression {
  /// Converts a constant to the type of the other operand, if the type is wider or the conversion loses no precision.
  /// Other expressions are returned unchanged. A fraction never becomes an integer, so that the quotient of an integer
  /// and `2.0` is not truncated.
  fileprivate func widened(to number: Arithmetic.Number) -> FetchExpression {
    number == .integer ? self : converted(to: .number(number.storage))
  }
}

extension FetchPredicate {
  /// Converts a comparison of a filtered count with zero or one to a condition on the members, whose evaluation ends at
  /// the first deciding member. Other conditions are returned unchanged.
  var countingNoFurther: FetchPredicate {
    switch self {
    case .comparison(.subquery(let path, let condition), let comparison, .value(.int(let bound)), _):
      comparison.quantifier(bound).map { .quantified($0, path, condition) } ?? self
    case .comparison(.value(.int(let bound)), let comparison, .subquery(let path, let condition), _):
      comparison.mirrored?.quantifier(bound).map { .quantified($0, path, condition) } ?? self
    default: self
    }
  }
}

extension ComparisonOperator {
  /// The quantifier with the meaning of a comparison of the number of members with a bound; `nil` for a bound that
  /// needs the exact number.
  fileprivate func quantifier(_ bound: Int64) -> FetchPredicate.Quantifier? {
    switch (self, bound) {
    case (.greater, 0), (.greaterOrEqual, 1), (.notEqual, 0): .any
    case (.equal, 0), (.lessOrEqual, 0), (.less, 1): FetchPredicate.Quantifier.none
    default: nil
    }
  }
}
