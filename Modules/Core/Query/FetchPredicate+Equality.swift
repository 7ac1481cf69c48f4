extension FetchPredicate {
  /// Whether two predicates have the same parts in the same order. Two conditions of the same meaning may differ: `a
  /// AND b` and `b AND a` do. Does not recurse, so that predicates of any depth can be compared.
  public static func == (left: FetchPredicate, right: FetchPredicate) -> Bool {
    var stack = [(left, right)]
    while let (left, right) = stack.popLast() {
      switch (left, right) {
      case (.and(let parts), .and(let otherParts)), (.or(let parts), .or(let otherParts)):
        guard parts.count == otherParts.count else { return false }
        stack.append(contentsOf: zip(parts, otherParts))
      case (.not(let part), .not(let other)):
        stack.append((part, other))
      case (.quantified(let quantifier, let path, let part), .quantified(let otherQuantifier, let otherPath, let other)):
        guard quantifier == otherQuantifier, path == otherPath else { return false }
        stack.append((part, other))
      default:
        guard left.isSimple(equalTo: right) else { return false }
      }
    }
    return true
  }

  /// Whether two predicates without parts are equal.
  private func isSimple(equalTo other: FetchPredicate) -> Bool {
    switch (self, other) {
    case (.constant(let value), .constant(let otherValue)):
      value == otherValue
    case (.comparison(let left, let comparison, let right, let options), .comparison(let l, let c, let r, let o)):
      left == l && comparison == c && right == r && options == o
    case (.membership(let expression, let values, let options), .membership(let e, let v, let o)):
      expression == e && values == v && options == o
    case (.between(let expression, let lower, let upper), .between(let e, let l, let u)):
      expression == e && lower == l && upper == u
    case (.list(let expression, let relation, let name, let options), .list(let e, let r, let n, let o)):
      expression == e && relation == r && name == n && options == o
    default: false
    }
  }

  /// Hashes the predicate and its parts at any depth, without recursion. Parts in another order give another hash.
  public func hash(into hasher: inout Hasher) {
    var stack = [self]
    while let predicate = stack.popLast() { stack += predicate.hashed(into: &hasher) }
  }

  /// Hashes the predicate without its parts.
  /// - Returns: The parts.
  private func hashed(into hasher: inout Hasher) -> [FetchPredicate] {
    func add(_ values: any Hashable...) { for value in values { value.hash(into: &hasher) } }
    switch self {
    case .constant(let value): add(0, value)
    case .comparison(let left, let comparison, let right, let options): add(1, left, comparison, right, options)
    case .membership(let expression, let values, let options): add(2, expression, values, options)
    case .between(let expression, let lower, let upper): add(3, expression, lower, upper)
    case .list(let expression, let relation, let name, let options): add(8, expression, relation, name, options)
    case .and(let parts):
      add(4, parts.count)
      return parts
    case .or(let parts):
      add(5, parts.count)
      return parts
    case .not(let part):
      add(6)
      return [part]
    case .quantified(let quantifier, let path, let part):
      add(7, quantifier, path)
      return [part]
    }
    return []
  }
}
