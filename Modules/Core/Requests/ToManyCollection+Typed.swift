extension ToMany {
  /// The members that satisfy a predicate, found by the store as far as it can.
  ///
  /// - Throws: As a fetch.
  public func filtered(_ predicate: FetchPredicate) throws -> [Element] { try request.filter(predicate).fetch() }
}

extension OrderedToMany {
  /// The members that satisfy a predicate, in their order, found by the store as far as it can.
  ///
  /// - Throws: As a fetch.
  public func filtered(_ predicate: FetchPredicate) throws -> [Element] { try request.filter(predicate).fetch() }
}

extension ToMany where Element: DeclaredEntity {
  /// The members that satisfy a condition, found by the store as far as it can.
  ///
  /// - Throws: As a fetch.
  public func filtered(_ condition: (QueryScope<Element>) -> FetchPredicate) throws -> [Element] {
    try filtered(.typed(condition))
  }
}

extension OrderedToMany where Element: DeclaredEntity {
  /// The members that satisfy a condition, in their order, found by the store as far as it can.
  ///
  /// - Throws: As a fetch.
  public func filtered(_ condition: (QueryScope<Element>) -> FetchPredicate) throws -> [Element] {
    try filtered(.typed(condition))
  }
}
