extension FetchPredicate {
  /// The greatest depth of nested conditions, because the evaluator and most other traversals of a predicate recurse
  /// for each level.
  package static let greatestDepth = 200

  /// Returns the condition with as few levels as possible: nested conjunctions in one list, nested disjunctions in one
  /// list, and no double negations. The depth of the result does not depend on the order in which a program has joined
  /// the parts.
  ///
  /// - Throws: ``ErrorCode/invalidPredicate`` for a flattened condition with more than ``greatestDepth`` levels.
  func flattened() throws(CoherenceError) -> FetchPredicate { try flattened(depth: 0) }

  fileprivate func flattened(depth: Int) throws(CoherenceError) -> FetchPredicate {
    guard depth <= Self.greatestDepth else { throw Self.nestedTooDeep }
    switch self {
    case .constant:
      return self
    case .comparison(let left, let comparison, let right, let options):
      guard left.isCompound || right.isCompound else { return self }
      return .comparison(try left.flattened(depth: depth), comparison, try right.flattened(depth: depth), options)
    case .membership(let expression, let values, let options):
      return .membership(try expression.flattened(depth: depth), in: values, options)
    case .between(let value, let lower, let upper):
      return .between(
        try value.flattened(depth: depth), try lower.flattened(depth: depth), try upper.flattened(depth: depth))
    case .list(let expression, let relation, let name, let options):
      return .list(try expression.flattened(depth: depth), relation, variable: name, options)
    case .and(let parts):
      return parts.contains(where: \.isCompound) ? .and(try Self.flattened(parts, isConjunction: true, depth)) : self
    case .or(let parts):
      return parts.contains(where: \.isCompound) ? .or(try Self.flattened(parts, isConjunction: false, depth)) : self
    case .not(var inner):
      var isNegated = true
      while case .not(let next) = inner {
        inner = next
        isNegated.toggle()
      }
      let flat = try inner.flattened(depth: depth + 1)
      return isNegated ? .not(flat) : flat
    case .quantified(let quantifier, let path, let inner):
      return .quantified(quantifier, path, try inner.flattened(depth: depth + 1))
    }
  }

  /// Returns the parts of a conjunction or disjunction, with nested parts of the same kind expanded. The expansion does
  /// not recurse, so that its depth is unlimited.
  private static func flattened(
    _ parts: [FetchPredicate], isConjunction: Bool, _ depth: Int
  ) throws(CoherenceError) -> [FetchPredicate] {
    var result: [FetchPredicate] = []
    var stack = [parts[...]]
    while var slice = stack.popLast() {
      guard let part = slice.popFirst() else { continue }
      stack.append(slice)
      switch part {
      case .and(let inner) where isConjunction: stack.append(inner[...])
      case .or(let inner) where !isConjunction: stack.append(inner[...])
      default: result.append(try part.flattened(depth: depth + 1))
      }
    }
    return result
  }

  /// Whether flattening may remove levels.
  private var isCompound: Bool {
    switch self {
    case .and, .or, .not, .quantified: true
    case .comparison(let left, _, let right, _): left.isCompound || right.isCompound
    case .membership(let expression, _, _), .list(let expression, _, _, _): expression.isCompound
    case .between(let value, let lower, let upper): value.isCompound || lower.isCompound || upper.isCompound
    case .constant: false
    }
  }

  fileprivate static var nestedTooDeep: CoherenceError {
    CoherenceError(
      .invalidPredicate,
      "The predicate is nested more than \(greatestDepth) deep; join conditions in one list of AND or OR, or fetch in "
        + "several steps.")
  }
}

extension FetchExpression {
  /// Returns the expression with flattened conditions.
  ///
  /// - Throws: ``ErrorCode/invalidPredicate`` for too many levels of operations and conditions.
  fileprivate func flattened(depth: Int) throws(CoherenceError) -> FetchExpression {
    guard depth <= FetchPredicate.greatestDepth else { throw FetchPredicate.nestedTooDeep }
    return try mappingParts { (part) throws(CoherenceError) in
      try part.flattened(depth: depth + 1)
    } condition: { (condition) throws(CoherenceError) in
      try condition.flattened(depth: depth + 1)
    }
  }
}

// MARK: - Lists

extension FetchPredicate {
  /// The least number of parts for which a disjunction is searched for comparisons that form a list.
  private static let manyParts = 16

  /// Returns the disjunction of the parts. Many equality comparisons of one property become one membership test: a
  /// lookup instead of a scan, and a single list for an SQL engine.
  static func disjunction(_ parts: [FetchPredicate]) -> FetchPredicate {
    guard parts.count >= manyParts else { return .or(parts) }
    struct Subject: Hashable {
      let path: PropertyPath
      let options: Int
    }
    var lists: [Subject: (index: Int, values: [AttributeValue])] = [:]
    var result: [FetchPredicate] = []
    for part in parts {
      // A list replaces its first comparison if another comparison follows.
      guard case .comparison(.path(let path), .equal, .value(let value), let options) = part else {
        result.append(part)
        continue
      }
      let subject = Subject(path: path, options: options.rawValue)
      if lists[subject] == nil {
        lists[subject] = (result.count, [])
        result.append(part)
      }
      lists[subject]?.values.append(value)
    }
    for (subject, list) in lists where list.values.count > 1 {
      result[list.index] = .membership(
        .path(subject.path), in: list.values, StringOptions(rawValue: subject.options))
    }
    return result.count == 1 ? result[0] : .or(result)
  }
}
