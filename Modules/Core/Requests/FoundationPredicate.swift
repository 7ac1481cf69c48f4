public import Foundation

extension FetchPredicate {
  /// Converts a predicate of Foundation.
  ///
  /// Supports comparisons, `&&`, `||`, `!`, optional chaining over to-one relationships, `contains` of a list, a range
  /// or a text, `starts(with:)`, and `contains(where:)`, `allSatisfy`, `count` and `isEmpty` of to-many relationships.
  ///
  /// - Throws: ``ErrorCode/invalidPredicate``, naming the unsupported part.
  public init<Root: DeclaredEntity>(_ predicate: Foundation.Predicate<Root>) throws {
    var reader = FoundationPredicateReader()
    reader.paths[predicate.variable.key] = .own
    self = try reader.predicate(predicate.expression)
  }
}

extension SortKey {
  /// Converts a sort descriptor of Foundation: its key path and its direction. The options decide how texts are
  /// compared. The descriptor's comparator is ignored, because its order depends on a locale.
  ///
  /// - Throws: ``ErrorCode/invalidFetchRequest`` when the descriptor has no key path.
  public init<Root: DeclaredEntity>(_ descriptor: SortDescriptor<Root>, options: StringOptions = []) throws {
    guard let keyPath = descriptor.keyPath else {
      throw CoherenceError(.invalidFetchRequest, "A sort descriptor without a key path cannot order a fetch.")
    }
    let path = PropertyPath(names: [Root.propertyName(of: keyPath)])
    self.init(path, descriptor.order, options: options)
  }
}

/// The counterpart in ``FetchPredicate`` of a node of Foundation's tree.
enum FoundationOperand {
  case predicate(FetchPredicate)
  case expression(FetchExpression)
  case list([AttributeValue])
  case range(FetchExpression, FetchExpression, isClosed: Bool)
  /// A captured value without a counterpart in predicates.
  case foreign(Any.Type)
}

/// A node of Foundation's tree with a counterpart in ``FetchPredicate``.
protocol FoundationNode {
  func operand(in reader: FoundationPredicateReader) throws -> FoundationOperand
}

/// Converts Foundation's tree from its root, with the path of each variable.
struct FoundationPredicateReader {
  var paths: [PredicateExpressions.VariableID: PropertyPath] = [:]

  func operand(_ node: Any) throws -> FoundationOperand {
    guard let readable = node as? any FoundationNode else { throw unsupportedNode(type(of: node)) }
    return try readable.operand(in: self)
  }

  /// Converts a node to a predicate. A boolean attribute stands for its comparison with `true`.
  func predicate(_ node: Any) throws -> FetchPredicate {
    switch try operand(node) {
    case .predicate(let predicate): return predicate
    case .expression(.value(.bool(let value))): return .constant(value)
    case .expression(let expression): return .comparison(expression, .equal, .value(.bool(true)))
    default: throw unsupportedNode(type(of: node))
    }
  }

  func expression(_ node: Any) throws -> FetchExpression {
    switch try operand(node) {
    case .expression(let expression): return expression
    default: throw unsupportedNode(type(of: node))
    }
  }

  func path(_ node: Any) throws -> PropertyPath {
    guard case .path(let path) = try expression(node) else { throw unsupportedNode(type(of: node)) }
    return path
  }

  func comparison(_ left: Any, _ comparison: ComparisonOperator, _ right: Any) throws -> FoundationOperand {
    .predicate(.comparison(try expression(left), comparison, try expression(right)))
  }

  /// Converts a condition on members. Its variable is the path of the member itself. The variables of the enclosing
  /// conditions get paths that lead out of the member's condition.
  func members(
    _ sequence: Any, _ quantifier: FetchPredicate.Quantifier, _ member: PredicateExpressions.VariableID, _ test: Any
  ) throws -> FoundationOperand {
    var inner = FoundationPredicateReader(paths: paths.mapValues { $0.outer() })
    inner.paths[member] = .own
    return .predicate(.quantified(quantifier, try path(sequence), try inner.predicate(test)))
  }

  /// The error for a node without a counterpart in a store.
  func unsupportedNode(_ type: Any.Type) -> CoherenceError {
    let name = String(describing: type).prefix { $0 != "<" }
    let advice = Self.advice[String(name)] ?? "write a typed expression instead"
    return CoherenceError(.invalidPredicate, "'\(name)' in a Foundation predicate is not supported; \(advice).")
  }

  /// The advice for the nodes without a counterpart in a store.
  private static let advice: [String: String] = [
    "Arithmetic": "compute the value before the predicate",
    "UnaryMinus": "compute the value before the predicate",
    "FloatDivision": "compute the value before the predicate",
    "IntDivision": "compute the value before the predicate",
    "IntRemainder": "compute the value before the predicate",
    "Conditional": "write both cases with && and ||",
    "TypeCheck": "fetch the subentity",
    "ConditionalCast": "fetch the subentity",
    "ForceCast": "fetch the subentity",
    "StringCaseInsensitiveCompare": "write a typed expression with `equals(_:options:)`",
    "StringLocalizedCompare": "no store compares by a locale; write a typed expression with `equals(_:options:)`",
    "StringLocalizedStandardContains": "write a typed expression with `contains(_:options:)`",
    "PredicateRegex": "write a typed expression with `matches(_:options:)`",
    "StringContainsRegex": "write a typed expression with `matches(_:options:)`",
  ]

  func unknownProperty(ofText path: PropertyPath) -> CoherenceError {
    CoherenceError(
      .invalidPredicate,
      "A Foundation predicate can use no property of the text '\(path)' but `isEmpty`. For at least four characters "
        + "write the typed expression `like(\"????*\")`, or keep the length in an attribute of its own.")
  }
}
