extension FetchPredicate {
  /// Returns the condition with each identifier replaced, such as a temporary identifier by the permanent identifier.
  func replacingReferences(_ replace: (ManagedObjectID) -> ManagedObjectID) -> FetchPredicate {
    switch self {
    case .constant: self
    case .comparison(let left, let comparison, let right, let options):
      .comparison(left.replacingReferences(replace), comparison, right.replacingReferences(replace), options)
    case .membership(let expression, let values, let options):
      .membership(
        expression.replacingReferences(replace), in: values.map { $0.replacingReference(replace) }, options)
    case .between(let value, let lower, let upper):
      .between(
        value.replacingReferences(replace), lower.replacingReferences(replace), upper.replacingReferences(replace))
    case .list(let expression, let relation, let name, let options):
      .list(expression.replacingReferences(replace), relation, variable: name, options)
    case .and(let parts): .and(parts.map { $0.replacingReferences(replace) })
    case .or(let parts): .or(parts.map { $0.replacingReferences(replace) })
    case .not(let part): .not(part.replacingReferences(replace))
    case .quantified(let quantifier, let path, let part):
      .quantified(quantifier, path, part.replacingReferences(replace))
    }
  }
}

extension FetchExpression {
  fileprivate func replacingReferences(_ replace: (ManagedObjectID) -> ManagedObjectID) -> FetchExpression {
    if case .value(let value) = self { return .value(value.replacingReference(replace)) }
    return mappingParts {
      $0.replacingReferences(replace)
    } condition: {
      $0.replacingReferences(replace)
    }
  }
}

extension AttributeValue {
  fileprivate func replacingReference(_ replace: (ManagedObjectID) -> ManagedObjectID) -> AttributeValue {
    guard case .reference(let id) = self else { return self }
    return .reference(replace(id))
  }
}
