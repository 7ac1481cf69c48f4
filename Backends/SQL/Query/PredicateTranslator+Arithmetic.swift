import CoherenceCore

// Arithmetic in conditions.

extension PredicateTranslator {
  /// The greatest number of nested operations in a statement. Core evaluates deeper ones.
  private static var greatestDepth: Int { 16 }

  /// The result of a calculation; `nil` when the engine does not calculate as the evaluator does.
  func arithmetic(
    _ operation: ArithmeticOperator, _ left: FetchExpression, _ right: FetchExpression, in scope: inout JoinScope
  ) -> QueryOperand? {
    // A condition on groups repeats aggregates, which cannot stand in the subqueries of a calculation.
    guard scope.columns == nil, max(left.operationDepth, right.operationDepth) < Self.greatestDepth,
      let inner = nested(by: 8), let first = inner.number(left, in: &scope),
      let second = inner.number(right, in: &scope),
      let arithmetic = Arithmetic(operation, first.number, second.number),
      let sql = dialect.arithmetic(arithmetic, first.sql, second.sql)
    else { return nil }
    let storage = arithmetic.result.storage
    return QueryOperand(sql: dialect.collated(sql, as: storage), storage: storage)
  }

  /// An operand of a calculation and its type.
  private func number(
    _ expression: FetchExpression, in scope: inout JoinScope
  ) -> (number: Arithmetic.Number, sql: SQLFragment)? {
    switch side(expression, in: &scope) {
    case .constant(let value):
      let number: Arithmetic.Number
      switch value {
      case .int: number = .integer
      case .double: number = .double
      case .decimal: number = .decimal
      default: return nil
      }
      return (number, dialect.cast(.value(value, number.storage), to: number.storage))
    case .operand(let operand):
      guard let number = Arithmetic.Number(operand.storage) else { return nil }
      guard operand.mayBeOutOfRange else { return (number, operand.sql) }
      // A sum out of range takes part as a missing value, as the result of an addition out of range does.
      guard number == .integer, let identity = Arithmetic(.add, .integer, .integer) else { return nil }
      return dialect.arithmetic(identity, operand.sql, "0").map { (number, $0) }
    case nil: return nil
    }
  }
}

extension FetchExpression {
  /// The greatest number of nested operations.
  fileprivate var operationDepth: Int {
    if case .arithmetic(_, let left, let right) = self { 1 + max(left.operationDepth, right.operationDepth) } else { 0 }
  }
}
