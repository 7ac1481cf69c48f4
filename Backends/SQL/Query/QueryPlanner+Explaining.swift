package import CoherenceCore

// The parts of a query that a statement leaves to the context.

extension QueryPlanner {
  /// The explanation of a query, without the plan of the engine.
  ///
  /// - Throws: As ``select(_:)``.
  package func explanation(
    _ query: StoreQuery, _ plan: SelectPlan, _ statement: SQLStatement, steps: [QueryStep]
  ) throws -> QueryExplanation {
    QueryExplanation(
      isPredicateExact: plan.isPredicateExact, isOrderExact: plan.isOrderExact, isRangeExact: plan.isRangeExact,
      statement: statement.text, valueCount: statement.bindings.count,
      residuals: plan.isPredicateExact && plan.isOrderExact ? [] : try residuals(query), steps: steps)
  }

  /// The conditions and sort keys that the statement leaves out, each with the reason.
  private func residuals(_ query: StoreQuery) throws -> [ResidualPart] {
    let (_, scope, filter) = try scopedFilter(of: query)
    let translator = self.translator
    var parts: [ResidualPart] = []
    for condition in filter.residuals {
      parts.append(ResidualPart(condition, translator.reason(for: condition, in: scope) ?? .tooManyValues))
    }
    for key in query.sortKeys {
      var attempt = scope
      let operand = translator.operand(key.path, in: &attempt)
      guard operand.flatMap({ translator.folded($0, key.options) }) == nil else { continue }
      let isAggregate = key.path.names.contains { $0.hasPrefix("@") }
      parts.append(ResidualPart(key, operand != nil ? .textOptions : isAggregate ? .aggregate : .noEquivalent))
    }
    return parts
  }
}

extension PredicateTranslator {
  /// The reason why a condition has no translation, that of its first part without one; `nil` for a condition with a
  /// translation.
  fileprivate func reason(for condition: FetchPredicate, in scope: JoinScope) -> ResidualPart.Reason? {
    var attempt = scope
    if self.condition(condition, in: &attempt) != nil { return nil }
    switch condition {
    case .and(let parts), .or(let parts):
      // A loop, because `first` of a lazy map computes the element twice, and thus 2^n times at the depth n.
      for part in parts { if let reason = reason(for: part, in: scope) { return reason } }
      return .tooDeep
    case .not(let inner): return reason(for: inner, in: scope) ?? .tooDeep
    case .comparison(let left, let comparison, let right, let options):
      if comparison == .matches || comparison == .like { return .pattern }
      if !options.isEmpty { return .textOptions }
      return reason(left, right, in: scope)
    case .membership(let expression, _, let options):
      return options.isEmpty ? reason(expression, nil, in: scope) : .textOptions
    case .between(let value, let lower, let upper):
      return reason(for: .comparison(value, .greaterOrEqual, lower), in: scope)
        ?? reason(for: .comparison(value, .lessOrEqual, upper), in: scope) ?? .noEquivalent
    case .list(let expression, _, _, _): return reason(expression, nil, in: scope)
    case .quantified, .constant: return .noEquivalent
    }
  }

  /// The reason for a comparison: an operand without a translation, or two operands that the engine does not compare.
  private func reason(
    _ left: FetchExpression, _ right: FetchExpression?, in scope: JoinScope
  ) -> ResidualPart.Reason {
    if left.isCalculated || right?.isCalculated == true { return .noEquivalent }
    for case .path(let path) in [left, right].compactMap({ $0 }) {
      var attempt = scope
      if operand(path, in: &attempt) == nil {
        return path.names.contains { $0.hasPrefix("@") } ? .aggregate : .noEquivalent
      }
    }
    return .types
  }
}

extension FetchExpression {
  /// Whether the value is computed from other values or from filtered members.
  fileprivate var isCalculated: Bool {
    switch self {
    case .arithmetic, .subquery: true
    case .value, .path, .count, .variable: false
    }
  }
}
