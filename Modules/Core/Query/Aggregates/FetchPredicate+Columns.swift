extension FetchPredicate {
  /// Returns the condition with each path replaced by the path of a column of grouped rows.
  ///
  /// - Throws: ``ErrorCode/invalidFetchRequest`` for a condition on members, because groups have no members; errors of
  ///   the block.
  func mappingPaths(
    _ map: (PropertyPath) throws(CoherenceError) -> PropertyPath
  ) throws(CoherenceError) -> FetchPredicate {
    switch self {
    case .constant:
      return self
    case .comparison(let left, let comparison, let right, let options):
      return .comparison(try left.mappingPath(map), comparison, try right.mappingPath(map), options)
    case .membership(let expression, let values, let options):
      return .membership(try expression.mappingPath(map), in: values, options)
    case .between(let value, let lower, let upper):
      return .between(try value.mappingPath(map), try lower.mappingPath(map), try upper.mappingPath(map))
    case .list(let expression, let relation, let name, let options):
      return .list(try expression.mappingPath(map), relation, variable: name, options)
    case .and(let parts):
      return .and(try Self.mappingPaths(of: parts, map))
    case .or(let parts):
      return .or(try Self.mappingPaths(of: parts, map))
    case .not(let part):
      return .not(try part.mappingPaths(map))
    case .quantified(_, let path, _):
      throw path.membersInHavingError
    }
  }

  private static func mappingPaths(
    of parts: [FetchPredicate], _ map: (PropertyPath) throws(CoherenceError) -> PropertyPath
  ) throws(CoherenceError) -> [FetchPredicate] {
    var result: [FetchPredicate] = []
    for part in parts { result.append(try part.mappingPaths(map)) }
    return result
  }
}

extension FetchExpression {
  /// Returns the expression with each path replaced by the path of a column; see ``FetchPredicate/mappingPaths(_:)``.
  fileprivate func mappingPath(
    _ map: (PropertyPath) throws(CoherenceError) -> PropertyPath
  ) throws(CoherenceError) -> FetchExpression {
    switch self {
    case .value, .variable: return self
    case .path(let path): return .path(try map(path))
    case .count(let path): return .path(try map(path.counted))
    case .arithmetic(let operation, let left, let right):
      return .arithmetic(operation, try left.mappingPath(map), try right.mappingPath(map))
    case .subquery(let path, _):
      throw path.membersInHavingError
    }
  }
}

extension PropertyPath {
  /// The error of a having predicate about members.
  fileprivate var membersInHavingError: CoherenceError {
    CoherenceError(
      .invalidFetchRequest,
      "A having predicate is about groups, which have no members '\(self)'; put the condition on the records.")
  }

  /// The path to the number of members at the end of this path.
  package var counted: PropertyPath { appending([AggregateFunction.count.pathOperator]) }
}
