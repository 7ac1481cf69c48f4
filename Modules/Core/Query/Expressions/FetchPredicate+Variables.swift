extension FetchPredicate {
  /// Returns the condition with values in place of variables.
  ///
  /// ```swift
  /// let template = try FetchPredicate(format: "year >= $since AND genre.name IN $genres")
  /// let predicate = try template.substituting(["since": 1990, "genres": ["Jazz", "Pop"]])
  /// ```
  ///
  /// A variable without an entry stays a variable, and a fetch refuses it with ``ErrorCode/invalidPredicate``. An entry
  /// without a variable has no effect. Reads no record; may be called on any thread.
  ///
  /// - Parameter variables: The values by the names of the variables, without the `$`: values of attribute types,
  ///   `nil`, ``ManagedObjectID``, and arrays or sets of such values for variables after `IN` and `BETWEEN`.
  /// - Throws: ``ErrorCode/invalidPredicate``, with the variable's name, for a value of a type without attributes, for
  ///   a list instead of a single value, and for a single value instead of a list.
  public func substituting(_ variables: [String: (any Sendable)?]) throws(CoherenceError) -> FetchPredicate {
    try flattened().substituting(VariableValues(variables))
  }

  fileprivate func substituting(_ values: VariableValues) throws(CoherenceError) -> FetchPredicate {
    switch self {
    case .constant: return self
    case .comparison(let left, let comparison, let right, let options):
      return .comparison(try left.substituting(values), comparison, try right.substituting(values), options)
    case .membership(let expression, let list, let options):
      return .membership(try expression.substituting(values), in: list, options)
    case .between(let value, let lower, let upper):
      return .between(try value.substituting(values), try lower.substituting(values), try upper.substituting(values))
    case .list(let expression, let relation, let name, let options):
      return try values.list(try expression.substituting(values), relation, name, options)
    case .and(let parts): return .and(try Self.substituting(values, in: parts))
    case .or(let parts): return .or(try Self.substituting(values, in: parts))
    case .not(let part): return .not(try part.substituting(values))
    case .quantified(let quantifier, let path, let part):
      return .quantified(quantifier, path, try part.substituting(values))
    }
  }

  private static func substituting(
    _ values: VariableValues, in parts: [FetchPredicate]
  ) throws(CoherenceError) -> [FetchPredicate] {
    var result: [FetchPredicate] = []
    for part in parts { result.append(try part.substituting(values)) }
    return result
  }

  /// The names of the condition's variables, without the `$`.
  public var variableNames: Set<String> {
    var names: Set<String> = []
    // An explicit stack in place of recursion, because predicates may be nested deeply.
    var stack = [self]
    while let predicate = stack.popLast() {
      switch predicate {
      case .constant: break
      case .comparison(let left, _, let right, _):
        stack += left.collectVariables(&names) + right.collectVariables(&names)
      case .membership(let expression, _, _): stack += expression.collectVariables(&names)
      case .between(let value, let lower, let upper):
        for expression in [value, lower, upper] { stack += expression.collectVariables(&names) }
      case .list(let expression, _, let name, _):
        names.insert(name)
        stack += expression.collectVariables(&names)
      case .and(let parts), .or(let parts): stack += parts
      case .not(let part), .quantified(_, _, let part): stack.append(part)
      }
    }
    return names
  }
}

extension FetchExpression {
  fileprivate func substituting(_ values: VariableValues) throws(CoherenceError) -> FetchExpression {
    if case .variable(let name) = self { return try values.value(name).map(FetchExpression.value) ?? self }
    return try mappingParts { (part) throws(CoherenceError) in
      try part.substituting(values)
    } condition: { (condition) throws(CoherenceError) in
      try condition.substituting(values)
    }
  }

  /// Adds the names of variables outside of conditions on members.
  ///
  /// - Returns: The conditions on members.
  fileprivate func collectVariables(_ names: inout Set<String>) -> [FetchPredicate] {
    switch self {
    case .value, .path, .count: return []
    case .variable(let name):
      names.insert(name)
      return []
    case .arithmetic(_, let left, let right): return left.collectVariables(&names) + right.collectVariables(&names)
    case .subquery(_, let condition): return [condition]
    }
  }
}

/// The values of variables.
private struct VariableValues {
  private let variables: [String: (any Sendable)?]

  init(_ variables: [String: (any Sendable)?]) { self.variables = variables }

  /// The value of a variable; `nil` for a variable without an entry.
  func value(_ name: String) throws(CoherenceError) -> AttributeValue? {
    guard let entry = variables[name] else { return nil }
    guard let argument = entry else { return .null }
    if let value = PredicateFormatArguments.value(argument) { return value }
    if argument is any Collection {
      throw CoherenceError(
        .invalidPredicate,
        "The value of the variable '$\(name)' is a list; only variables after IN and BETWEEN take a list.")
    }
    throw Self.unsuitable(argument, name)
  }

  /// The condition that a value lies in the list of a variable.
  func list(
    _ expression: FetchExpression, _ relation: FetchPredicate.ListRelation, _ name: String, _ options: StringOptions
  ) throws(CoherenceError) -> FetchPredicate {
    guard let entry = variables[name] else { return .list(expression, relation, variable: name, options) }
    guard let argument = entry, PredicateFormatArguments.value(argument) == nil,
      let elements = argument as? any Collection
    else {
      throw CoherenceError(
        .invalidPredicate,
        "The value of the variable '$\(name)' is not an array or a set; \(relation.rawValue) takes a list.")
    }
    var values: [AttributeValue] = []
    for element in PredicateFormatArguments.opened(elements) {
      guard let value = PredicateFormatArguments.value(element) else { throw Self.unsuitable(element, name) }
      values.append(value)
    }
    guard relation == .between else { return .membership(expression, in: values, options) }
    guard values.count == 2 else {
      throw CoherenceError(
        .invalidPredicate,
        "The variable '$\(name)' after BETWEEN needs two bounds; \(values.count) were given.")
    }
    return .between(expression, .value(values[0]), .value(values[1]))
  }

  private static func unsuitable(_ argument: Any, _ name: String) -> CoherenceError {
    CoherenceError(
      .invalidPredicate,
      "The value of the variable '$\(name)' is a '\(type(of: argument))', which is no value of an attribute; conform it "
        + "to 'AttributeConvertible'.")
  }
}

extension CoherenceError {
  /// The error for a variable without a value.
  static func unsubstituted(_ name: String) -> CoherenceError {
    CoherenceError(
      .invalidPredicate, "The variable '$\(name)' has no value; substitute a value before the fetch.")
  }
}
