/// The members of a to-many relationship in a typed expression.
public struct QueryCollection<Member: DeclaredEntity> {
  let path: PropertyPath

  /// Whether at least one member satisfies the condition.
  public func any(_ condition: (QueryScope<Member>) -> FetchPredicate) -> FetchPredicate {
    .quantified(.any, path, condition(QueryScope()))
  }

  /// Whether every member satisfies the condition. True without members.
  public func all(_ condition: (QueryScope<Member>) -> FetchPredicate) -> FetchPredicate {
    .quantified(.all, path, condition(QueryScope()))
  }

  /// Whether no member satisfies the condition.
  public func none(_ condition: (QueryScope<Member>) -> FetchPredicate) -> FetchPredicate {
    .quantified(.none, path, condition(QueryScope()))
  }

  /// The number of members.
  public var count: QueryAttribute<Int> { QueryAttribute(.count(path)) }

  /// Whether the relationship has no members.
  public var isEmpty: FetchPredicate { .comparison(.count(path), .equal, .value(.int(0))) }

  /// Whether the object with the identifier is a member.
  public func contains(_ id: ManagedObjectID) -> FetchPredicate { any { $0 == id } }

  /// Whether the object is a member.
  public func contains(_ object: Member) -> FetchPredicate { contains(object.objectID) }
}
