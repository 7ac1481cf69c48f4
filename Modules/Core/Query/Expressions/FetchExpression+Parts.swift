extension FetchExpression {
  /// Returns the expression with each part replaced: operands of arithmetic and conditions on members. An expression
  /// without parts is returned unchanged.
  package func mappingParts<E: Error>(
    _ expression: (FetchExpression) throws(E) -> FetchExpression,
    condition: (FetchPredicate) throws(E) -> FetchPredicate
  ) throws(E) -> FetchExpression {
    switch self {
    case .value, .path, .count, .variable: self
    case .arithmetic(let operation, let left, let right):
      .arithmetic(operation, try expression(left), try expression(right))
    case .subquery(let path, let predicate): .subquery(path, try condition(predicate))
    }
  }

  /// Whether the expression has parts.
  var isCompound: Bool {
    switch self {
    case .value, .path, .count, .variable: false
    case .arithmetic, .subquery: true
    }
  }

  /// The paths that the expression reads from the record itself, without the paths of members.
  package var paths: [PropertyPath] {
    switch self {
    case .value, .variable: []
    case .path(let path), .count(let path), .subquery(let path, _): [path]
    case .arithmetic(_, let left, let right): left.paths + right.paths
    }
  }

  /// Whether the expression is the same for every record.
  var isConstant: Bool {
    switch self {
    case .value, .variable: true
    case .path, .count, .subquery: false
    case .arithmetic(_, let left, let right): left.isConstant && right.isConstant
    }
  }
}
