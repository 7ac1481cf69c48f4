import Synchronization

/// The identity of a record in a typed expression, such as the album in
/// `{ album in album.tracks.any { $0.title == album.title } }`.
///
/// A closure can use the records of all closures around it, and an expression alone does not show the closure that made
/// it. The identity names the record of a path until the closure has returned and the path has an outer level.
struct QueryScopeID: Hashable, Sendable {
  private static let last = Atomic<Int>(0)
  private let number = Self.last.add(1, ordering: .relaxed).newValue
}

extension PropertyPath {
  /// The path with further names at its end, from the same record.
  func appending(_ names: [String]) -> PropertyPath {
    var path = self
    path.names += names
    return path
  }

  /// The path with other names, from the same record.
  func replacingNames(_ names: some Sequence<String>) -> PropertyPath {
    var path = self
    path.names = Array(names)
    return path
  }

  /// The same path, written in a condition on members deeper by some levels.
  func outer(_ levels: Int = 1) -> PropertyPath {
    var path = self
    path.outerLevel += levels
    return path
  }
}

extension FetchPredicate {
  /// Replaces the scope of the paths from a record by their levels. Called when the closure of a typed expression has
  /// returned the condition on the record.
  func closed(over scope: QueryScopeID) -> FetchPredicate {
    // The traversal recurses. A predicate that is too deep even when it is flattened is refused by every fetch.
    guard let shallow = isDeep ? try? flattened() : self else { return self }
    return shallow.mappingPaths { path, depth in
      guard path.scope == scope else { return path }
      var path = path
      path.scope = nil
      path.outerLevel = depth
      return path
    }
  }

  /// Whether the conditions are nested more deeply than a traversal should recurse.
  private var isDeep: Bool {
    // An explicit stack in place of recursion, because the depth is not limited yet.
    var stack = [(self, 0)]
    while let (predicate, depth) = stack.popLast() {
      guard depth <= Self.greatestDepth else { return true }
      switch predicate {
      case .constant, .comparison, .membership, .between, .list: break
      case .and(let parts), .or(let parts): for part in parts { stack.append((part, depth + 1)) }
      case .not(let part), .quantified(_, _, let part): stack.append((part, depth + 1))
      }
    }
    return false
  }

  /// Returns the predicate with each path replaced.
  ///
  /// - Parameters:
  ///   - depth: The number of conditions on members around the predicate.
  ///   - transform: Returns a path in place of a path at a depth.
  func mappingPaths(
    depth: Int = 0, _ transform: (PropertyPath, _ depth: Int) -> PropertyPath
  ) -> FetchPredicate {
    func mapped(_ expression: FetchExpression) -> FetchExpression {
      expression.mappingPaths(depth: depth, transform)
    }
    return switch self {
    case .constant: self
    case .comparison(let left, let comparison, let right, let options):
      .comparison(mapped(left), comparison, mapped(right), options)
    case .membership(let expression, let values, let options): .membership(mapped(expression), in: values, options)
    case .between(let expression, let lower, let upper): .between(mapped(expression), mapped(lower), mapped(upper))
    case .list(let expression, let relation, let name, let options):
      .list(mapped(expression), relation, variable: name, options)
    case .and(let parts): .and(parts.map { $0.mappingPaths(depth: depth, transform) })
    case .or(let parts): .or(parts.map { $0.mappingPaths(depth: depth, transform) })
    case .not(let part): .not(part.mappingPaths(depth: depth, transform))
    case .quantified(let quantifier, let path, let part):
      .quantified(quantifier, transform(path, depth), part.mappingPaths(depth: depth + 1, transform))
    }
  }

  /// Whether the condition, written about a member, has a path from a record around it.
  var hasOuterPaths: Bool {
    var found = false
    _ = mappingPaths { path, depth in
      if path.outerLevel > depth { found = true }
      return path
    }
    return found
  }
}

extension FetchExpression {
  /// Returns the expression with each path replaced; see ``FetchPredicate/mappingPaths(depth:_:)``.
  func mappingPaths(
    depth: Int = 0, _ transform: (PropertyPath, _ depth: Int) -> PropertyPath
  ) -> FetchExpression {
    switch self {
    case .value, .variable: self
    case .path(let path): .path(transform(path, depth))
    case .count(let path): .count(transform(path, depth))
    case .subquery(let path, let condition):
      .subquery(transform(path, depth), condition.mappingPaths(depth: depth + 1, transform))
    case .arithmetic(let operation, let left, let right):
      .arithmetic(operation, left.mappingPaths(depth: depth, transform), right.mappingPaths(depth: depth, transform))
    }
  }

  /// The same expression, written in a condition on members deeper by a level.
  var outer: FetchExpression {
    mappingPaths { path, depth in path.outerLevel >= depth && path.scope == nil ? path.outer() : path }
  }
}
