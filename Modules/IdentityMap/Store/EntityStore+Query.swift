extension EntityStore {
  /// Returns an observer of the entities of a type that satisfy a condition, in an order: observers receive the new
  /// list when entities enter, change or leave. The query does not retain the entities; the lifetime of their type
  /// can.
  /// - Parameters:
  ///   - condition: Called under the store's lock, for each entity and again after each change of an entity.
  ///   - order: Whether the first entity precedes the second. Without it, the order is that in which the entities
  ///     matched.
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
