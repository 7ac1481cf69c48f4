/// What a stored type is besides identifiable, found out once.
@usableFromInline
class Nature<T: Identifiable & Sendable> {
  var isAggregate: Bool { false }

  /// The places of the nested entities of an aggregate.
  func paths(of value: T) -> [PartialIdentifiableKeyPath<T>]? { nil }

  /// Whether two values are known to be equal; never those of types that cannot be compared.
  @usableFromInline func areEqual(_ first: T, _ second: T) -> Bool { false }

  static func of() -> Nature<T> {
    if let type = T.self as? any (Aggregate & Equatable).Type { return made(equatableAggregate: type) }
    if let type = T.self as? any Aggregate.Type { return made(aggregate: type) }
    if let type = T.self as? any (Identifiable & Sendable & Equatable).Type { return made(equatable: type) }
    return Nature()
  }

  private static func made<A: Aggregate & Equatable>(equatableAggregate type: A.Type) -> Nature<T> {
    // A is T.
    unsafeDowncast(EquatableAggregateNature<A>(), to: Nature<T>.self)
  }

  private static func made<A: Aggregate>(aggregate type: A.Type) -> Nature<T> {
    unsafeDowncast(AggregateNature<A>(), to: Nature<T>.self)
  }

  private static func made<E: Identifiable & Sendable & Equatable>(equatable type: E.Type) -> Nature<T> {
    unsafeDowncast(EquatableNature<E>(), to: Nature<T>.self)
  }
}

@usableFromInline
final class EquatableNature<T: Identifiable & Sendable & Equatable>: Nature<T> {
  @usableFromInline override func areEqual(_ first: T, _ second: T) -> Bool { first == second }
}

@usableFromInline
final class AggregateNature<T: Aggregate>: Nature<T> {
  override var isAggregate: Bool { true }

  override func paths(of value: T) -> [PartialIdentifiableKeyPath<T>]? { value.nestedEntitiesKeyPaths }
}

@usableFromInline
final class EquatableAggregateNature<T: Aggregate & Equatable>: Nature<T> {
  override var isAggregate: Bool { true }

  override func paths(of value: T) -> [PartialIdentifiableKeyPath<T>]? { value.nestedEntitiesKeyPaths }

  @usableFromInline override func areEqual(_ first: T, _ second: T) -> Bool { first == second }
}
