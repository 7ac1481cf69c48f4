extension EntityStore {
  /// The entities of a type that satisfy a condition, in an order, which can be followed: when entities come, change or
  /// go, observers get the new list. The query does not keep the entities; the policy of their type can.
  /// - Parameters:
  ///   - condition: Runs under the store's lock, once for each entity and again for each that changes.
  ///   - order: Whether the first comes before the second. Without it, the order is that in which they matched.
  public func query<T: Identifiable & Sendable>(
    _ type: T.Type, where condition: @escaping @Sendable (T) -> Bool = { _ in true },
    sort order: (@Sendable (T, T) -> Bool)? = nil
  ) -> EntityObserver<[T]> {
    core.exclusively { EntityObserver(core.query(type, where: condition, sort: order)) }
  }

  /// The entities of a type that satisfy a condition, sorted by a property.
  public func query<T: Identifiable & Sendable, V: Comparable & Sendable>(
    _ type: T.Type, where condition: @escaping @Sendable (T) -> Bool = { _ in true },
    sortedBy property: any KeyPath<T, V> & Sendable
  ) -> EntityObserver<[T]> {
    query(type, where: condition, sort: { $0[keyPath: property] < $1[keyPath: property] })
  }
}
