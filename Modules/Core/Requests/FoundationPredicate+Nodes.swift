import Foundation

// MARK: - Operands

extension PredicateExpressions.Variable: FoundationNode {
  func operand(in reader: FoundationPredicateReader) throws -> FoundationOperand {
    guard let path = reader.paths[key] else {
      throw CoherenceError(
        .invalidPredicate,
        "A condition refers to a variable of another predicate, which is not supported; compute the value before the "
          + "predicate."
      )
    }
    return .expression(.path(path))
  }
}

extension PredicateExpressions.KeyPath: FoundationNode {
  func operand(in reader: FoundationPredicateReader) throws -> FoundationOperand {
    let path = try reader.path(root)
    if Root.Output.self is any ToManyCollection.Type {
      // `count` and `isEmpty` are the only integer and boolean properties of the collections.
      if Output.self == Int.self { return .expression(.count(path)) }
      if Output.self == Bool.self { return .predicate(.comparison(.count(path), .equal, .value(.int(0)))) }
    }
    if Root.Output.self == String.self || Root.Output.self == String?.self {
      // `isEmpty` is a comparison with the empty text. Other properties of texts have no counterpart in a store.
      guard Output.self == Bool.self else { throw reader.unknownProperty(ofText: path) }
      return .predicate(.comparison(.path(path), .equal, .value(.string(""))))
    }
    guard let type = Root.Output.self as? any DeclaredEntity.Type else { throw reader.unsupportedNode(Self.self) }
    return .expression(.path(path.appending([type.propertyName(of: keyPath)])))
  }
}

extension PredicateExpressions.Value: FoundationNode {
  func operand(in reader: FoundationPredicateReader) throws -> FoundationOperand {
    switch value as Any {
    case let value as any AttributeConvertible: .expression(.value(value.attributeValue))
    case let id as ManagedObjectID: .expression(.value(.reference(id)))
    case let object as ManagedObject: .expression(.value(.reference(object.objectID)))
    case let values as [any AttributeConvertible]: .list(values.map(\.attributeValue))
    case let ids as [ManagedObjectID]: .list(ids.map(AttributeValue.reference))
    case let range as any ConstantRange: range.operand
    default: .foreign(Output.self)
    }
  }
}

/// A range whose bounds can be an attribute's values.
private protocol ConstantRange {
  var operand: FoundationOperand { get }
}

extension ClosedRange: ConstantRange {
  fileprivate var operand: FoundationOperand { bounds(lowerBound, upperBound, isClosed: true) }
}

extension Range: ConstantRange {
  fileprivate var operand: FoundationOperand { bounds(lowerBound, upperBound, isClosed: false) }
}

private func bounds<Bound>(_ lower: Bound, _ upper: Bound, isClosed: Bool) -> FoundationOperand {
  guard let lower = lower as? any AttributeConvertible, let upper = upper as? any AttributeConvertible else {
    return .foreign(Bound.self)
  }
  return .range(.value(lower.attributeValue), .value(upper.attributeValue), isClosed: isClosed)
}

extension PredicateExpressions.NilLiteral: FoundationNode {
  func operand(in reader: FoundationPredicateReader) -> FoundationOperand { .expression(.value(.null)) }
}

extension PredicateExpressions.OptionalFlatMap: FoundationNode {
  func operand(in reader: FoundationPredicateReader) throws -> FoundationOperand {
    var inner = reader
    inner.paths[variable.key] = try reader.path(wrapped)
    return try inner.operand(transform)
  }
}

extension PredicateExpressions.ForcedUnwrap: FoundationNode {
  func operand(in reader: FoundationPredicateReader) throws -> FoundationOperand { try reader.operand(inner) }
}

extension PredicateExpressions.Range: FoundationNode {
  func operand(in reader: FoundationPredicateReader) throws -> FoundationOperand {
    .range(try reader.expression(lower), try reader.expression(upper), isClosed: false)
  }
}

extension PredicateExpressions.ClosedRange: FoundationNode {
  func operand(in reader: FoundationPredicateReader) throws -> FoundationOperand {
    .range(try reader.expression(lower), try reader.expression(upper), isClosed: true)
  }
}

// MARK: - Logic

extension PredicateExpressions.Conjunction: FoundationNode {
  func operand(in reader: FoundationPredicateReader) throws -> FoundationOperand {
    .predicate(try reader.predicate(lhs) && reader.predicate(rhs))
  }
}

extension PredicateExpressions.Disjunction: FoundationNode {
  func operand(in reader: FoundationPredicateReader) throws -> FoundationOperand {
    .predicate(try reader.predicate(lhs) || reader.predicate(rhs))
  }
}

extension PredicateExpressions.Negation: FoundationNode {
  func operand(in reader: FoundationPredicateReader) throws -> FoundationOperand {
    .predicate(.not(try reader.predicate(wrapped)))
  }
}

// MARK: - Comparisons

extension PredicateExpressions.Equal: FoundationNode {
  func operand(in reader: FoundationPredicateReader) throws -> FoundationOperand {
    try reader.comparison(lhs, .equal, rhs)
  }
}

extension PredicateExpressions.NotEqual: FoundationNode {
  func operand(in reader: FoundationPredicateReader) throws -> FoundationOperand {
    try reader.comparison(lhs, .notEqual, rhs)
  }
}

extension PredicateExpressions.Comparison: FoundationNode {
  func operand(in reader: FoundationPredicateReader) throws -> FoundationOperand {
    let comparison: ComparisonOperator =
      switch op {
      case .lessThan: .less
      case .lessThanOrEqual: .lessOrEqual
      case .greaterThan: .greater
      case .greaterThanOrEqual: .greaterOrEqual
      @unknown default: throw reader.unsupportedNode(Self.self)
      }
    return try reader.comparison(lhs, comparison, rhs)
  }
}

// MARK: - Texts

extension PredicateExpressions.CollectionContainsCollection: FoundationNode {
  func operand(in reader: FoundationPredicateReader) throws -> FoundationOperand {
    try reader.comparison(base, .contains, other)
  }
}

extension PredicateExpressions.SequenceStartsWith: FoundationNode {
  func operand(in reader: FoundationPredicateReader) throws -> FoundationOperand {
    try reader.comparison(base, .beginsWith, prefix)
  }
}

// MARK: - Lists, ranges and members

extension PredicateExpressions.SequenceContains: FoundationNode {
  func operand(in reader: FoundationPredicateReader) throws -> FoundationOperand {
    let element = try reader.expression(element)
    switch try reader.operand(sequence) {
    case .list(let values):
      return .predicate(.membership(element, in: values))
    case .range(let lower, let upper, let isClosed):
      return .predicate(Self.range(element, lower, upper, isClosed))
    case .expression(.path(let path)):
      return .predicate(.quantified(.any, path, .comparison(.path(.own), .equal, element.outer)))
    default:
      throw reader.unsupportedNode(Self.self)
    }
  }
}

extension PredicateExpression {
  fileprivate static func range(
    _ element: FetchExpression, _ lower: FetchExpression, _ upper: FetchExpression, _ isClosed: Bool
  ) -> FetchPredicate {
    if isClosed { return .between(element, lower, upper) }
    return .comparison(element, .greaterOrEqual, lower) && .comparison(element, .less, upper)
  }
}

extension PredicateExpressions.RangeExpressionContains: FoundationNode {
  func operand(in reader: FoundationPredicateReader) throws -> FoundationOperand {
    guard case .range(let lower, let upper, let isClosed) = try reader.operand(range) else {
      throw reader.unsupportedNode(Self.self)
    }
    return .predicate(Self.range(try reader.expression(element), lower, upper, isClosed))
  }
}

extension PredicateExpressions.SequenceContainsWhere: FoundationNode {
  func operand(in reader: FoundationPredicateReader) throws -> FoundationOperand {
    try reader.members(sequence, .any, variable.key, test)
  }
}

extension PredicateExpressions.SequenceAllSatisfy: FoundationNode {
  func operand(in reader: FoundationPredicateReader) throws -> FoundationOperand {
    try reader.members(sequence, .all, variable.key, test)
  }
}
