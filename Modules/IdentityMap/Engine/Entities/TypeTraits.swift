/// The capabilities of a stored type, found once by casts.
@usableFromInline
class TypeTraits<T: Identifiable & Sendable> {
  var isAggregate: Bool { false }

  /// The key paths to the nested entities of an aggregate.
  func paths(of value: T) -> [PartialIdentifiableKeyPath<T>]? { nil }

  /// Whether two values are equal by their `==`; `false` for types without one.
  @usableFromInline func areEqual(_ first: T, _ second: T) -> Bool { false }

  static func of() -> TypeTraits<T> {
    if let type = T.self as? any (Aggregate & Equatable).Type { return made(equatableAggregate: type) }
    if let type = T.self as? any Aggregate.Type { return made(aggregate: type) }
    if let type = T.self as? any (Identifiable & Sendable & Equatable).Type { return made(equatable: type) }
    return TypeTraits()
  }

  private static func made<A: Aggregate & Equatable>(equatableAggregate type: A.Type) -> TypeTraits<T> {
    // A is T.
    unsafeDowncast(EquatableAggregateTraits<A>(), to: TypeTraits<T>.self)
  }

  private static func made<A: Aggregate>(aggregate type: A.Type) -> TypeTraits<T> {
    unsafeDowncast(AggregateTraits<A>(), to: TypeTraits<T>.self)
  }

  private static func made<E: Identifiable & Sendable & Equatable>(equatable type: E.Type) -> TypeTraits<T> {
    unsafeDowncast(EquatableTraits<E>(), to: TypeTraits<T>.self)
  }
}

@usableFromInline
final class EquatableTraits<T: Identifiable & Sendable & Equatable>: TypeTraits<T> {
  @usableFromInline override func areEqual(_ first: T, _ second: T) -> Bool { first == second }
}

@usableFromInline
final class AggregateTraits<T: Aggregate>: TypeTraits<T> {
  override var isAggregate: Bool { true }

  override func paths(of value: T) -> [PartialIdentifiableKeyPath<T>]? { value.nestedEntitiesKeyPaths }
}

@usableFromInline
final class EquatableAggregateTraits<T: Aggregate & Equatable>: TypeTraits<T> {
  override var isAggregate: Bool { true }

  override func paths(of value: T) -> [PartialIdentifiableKeyPath<T>]? { value.nestedEntitiesKeyPaths }

  @usableFromInline override func areEqual(_ first: T, _ second: T) -> Bool { first == second }
}
