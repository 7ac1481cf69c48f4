/// The members of a to-many relationship in a typed expression.
public struct QueryCollection<Member: DeclaredEntity> {
  let path: PropertyPath

  /// Whether at least one member satisfies the condition, which can use properties of the records around it too.
  ///
  /// ```swift
  /// FetchRequest(Album.self).filter { album in album.tracks.any { $0.title == album.title } }
  /// ```
  public func any(_ condition: (QueryScope<Member>) -> FetchPredicate) -> FetchPredicate {
    .quantified(.any, path, .typed(condition))
  }

  /// Whether every member satisfies the condition. True without members.
  public func all(_ condition: (QueryScope<Member>) -> FetchPredicate) -> FetchPredicate {
    .quantified(.all, path, .typed(condition))
  }

  /// Whether no member satisfies the condition.
  public func none(_ condition: (QueryScope<Member>) -> FetchPredicate) -> FetchPredicate {
    .quantified(.none, path, .typed(condition))
  }

  /// Returns the members that satisfy a condition, for ``FilteredQueryCollection/count``. The condition can use
  /// properties of the records around it too.
  ///
  /// ```swift
  /// FetchRequest(Album.self).filter { album in album.tracks.filter { $0.plays > album.plays }.count > 2 }
  /// ```
  public func filter(_ condition: (QueryScope<Member>) -> FetchPredicate) -> FilteredQueryCollection<Member> {
    FilteredQueryCollection(path: path, condition: .typed(condition))
  }

  // MARK: Aggregates of the members

  /// The number of members.
  public var count: QueryAttribute<Int> { QueryAttribute(.count(path)) }

  /// Whether the relationship has no members.
  public var isEmpty: FetchPredicate { .comparison(.count(path), .equal, .value(.int(0))) }

  /// The sum of an attribute over the members; 0 for no values.
  ///
  /// ```swift
  /// FetchRequest(Album.self).filter { $0.tracks.sum(\.length) > 3_600 }
  /// ```
  public func sum<Value>(
    _ attribute: KeyPath<QueryScope<Member>, QueryAttribute<Value>>
  ) -> QueryAttribute<Value.NonOptional.Sum> where Value.NonOptional: NumericAttribute { aggregate(.sum, attribute) }

  /// The average of an attribute over the members; missing for no values.
  public func average<Value>(
    _ attribute: KeyPath<QueryScope<Member>, QueryAttribute<Value>>
  ) -> QueryAttribute<Value.NonOptional.Average?> where Value.NonOptional: NumericAttribute {
    aggregate(.average, attribute)
  }

  /// The least value of an attribute among the members; missing for no values.
  public func minimum<Value>(
    _ attribute: KeyPath<QueryScope<Member>, QueryAttribute<Value>>
  ) -> QueryAttribute<Value.NonOptional?> { aggregate(.minimum, attribute) }

  /// The greatest value of an attribute among the members; missing for no values.
  public func maximum<Value>(
    _ attribute: KeyPath<QueryScope<Member>, QueryAttribute<Value>>
  ) -> QueryAttribute<Value.NonOptional?> { aggregate(.maximum, attribute) }

  /// The number of different values of an attribute among the members.
  public func countDistinct<Value>(
    _ attribute: KeyPath<QueryScope<Member>, QueryAttribute<Value>>
  ) -> QueryAttribute<Int> { aggregate(.countDistinct, attribute) }

  private func aggregate<Value, Result>(
    _ function: AggregateFunction, _ attribute: KeyPath<QueryScope<Member>, QueryAttribute<Value>>
  ) -> QueryAttribute<Result> {
    let member = QueryScope<Member>()[keyPath: attribute].path
    return QueryAttribute(.path(path.appending([function.pathOperator] + member.names)))
  }

  // MARK: Membership

  /// Whether the object with the identifier is a member.
  public func contains(_ id: ManagedObjectID) -> FetchPredicate { any { $0 == id } }

  /// Whether the object is a member.
  public func contains(_ object: Member) -> FetchPredicate { contains(object.objectID) }
}

/// The members of a to-many relationship that satisfy a condition, in a typed expression.
public struct FilteredQueryCollection<Member: DeclaredEntity> {
  let path: PropertyPath
  let condition: FetchPredicate

  /// The number of members that satisfy the condition.
  public var count: QueryAttribute<Int> { QueryAttribute(.subquery(path, condition)) }

  /// Returns the members that satisfy a further condition too.
  public func filter(_ condition: (QueryScope<Member>) -> FetchPredicate) -> FilteredQueryCollection {
    FilteredQueryCollection(path: path, condition: self.condition && .typed(condition))
  }
}
