extension FetchPredicate {
  /// Makes a predicate from a typed expression.
  ///
  /// ```swift
  /// FetchPredicate(Album.self) { $0.year > 1990 && $0.artist.name.hasPrefix("A") }
  /// ```
  ///
  /// - Parameters:
  ///   - type: The class of the records.
  ///   - condition: Called once. Its argument stands for a record, and has the properties of the class.
  public init<Root: DeclaredEntity>(_ type: Root.Type, _ condition: (QueryScope<Root>) -> FetchPredicate) {
    self = .typed(condition)
  }

  /// Returns the predicate of a typed expression, of any depth: the closures of conditions on members come here too.
  ///
  /// Paths in the closure carry the identifier of the closure's record, because a nested closure can name the records
  /// of enclosing closures. `closed(over:)` replaces the identifier by the number of conditions between the path and
  /// the record.
  static func typed<Root>(_ condition: (QueryScope<Root>) -> FetchPredicate) -> FetchPredicate {
    let scope = QueryScopeID()
    return condition(QueryScope(scope)).closed(over: scope)
  }

  /// Whether both predicates are satisfied.
  ///
  /// Adds a part to the list of the first predicate. The cost grows with the number of parts in that list: join
  /// thousands of predicates at once, with ``FetchPredicate/and(_:)``.
  public static func && (left: FetchPredicate, right: FetchPredicate) -> FetchPredicate {
    guard case .and(let parts) = left else { return .and([left, right]) }
    return .and(parts + [right])
  }

  /// Whether at least one of the predicates is satisfied.
  ///
  /// Adds a part to the list of the first predicate. The cost grows with the number of parts in that list: join
  /// thousands of predicates at once, with ``FetchPredicate/or(_:)``.
  public static func || (left: FetchPredicate, right: FetchPredicate) -> FetchPredicate {
    guard case .or(let parts) = left else { return .or([left, right]) }
    return .or(parts + [right])
  }

  /// Whether the predicate is not satisfied.
  public static prefix func ! (predicate: FetchPredicate) -> FetchPredicate { .not(predicate) }
}
