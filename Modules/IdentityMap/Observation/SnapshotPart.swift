/// A part of a snapshot; see ``EntityStore/snapshot(of:)``. The snapshot retains the entities of the identifiers and
/// aliases that its parts name.
public struct SnapshotPart<Value: Sendable>: Sendable {
  /// Returns the node of the part in a store, and makes it if necessary. Under the lock; the caller retains the node.
  let node: @Sendable (StoreCore) -> ValueNode<Value>
}

extension SnapshotPart {
  /// The entity of an identifier; `nil` while it does not exist.
  public static func entity<T: Identifiable & Sendable>(_ type: T.Type, id: T.ID) -> SnapshotPart<T?>
  where Value == T?, T.ID: Sendable {
    SnapshotPart<T?> { $0.observedIdentifier(type, id: id) }
  }

  /// The present entities among identifiers, in the order of the identifiers.
  public static func entities<T: Identifiable & Sendable>(_ type: T.Type, ids: [T.ID]) -> SnapshotPart<[T]>
  where Value == [T], T.ID: Sendable {
    SnapshotPart<[T]> { core in
      let nodes = ids.map { core.observedIdentifier(type, id: $0) }
      return SnapshotNode.make(of: nodes, core: core) { nodes.compactMap { $0.read() } }
    }
  }

  /// The entity of an alias; `nil` while the alias has no content.
  public static func alias<T: Identifiable & Sendable>(_ key: AliasKey<T>) -> SnapshotPart<T?> where Value == T? {
    SnapshotPart<T?> { $0.alias(key, shape: .entity()) }
  }

  /// The collection of an alias; `nil` while the alias has no content.
  public static func alias<C: Collection & Sendable>(_ key: AliasKey<C>) -> SnapshotPart<C?>
  where Value == C?, C.Element: Identifiable & Sendable {
    SnapshotPart<C?> { $0.alias(key, shape: .list()) }
  }

  /// The entities of a type that satisfy a condition; see ``EntityStore/query(_:where:sort:)``. Like a query, the
  /// snapshot does not retain them. Mark a closure written in place: `.query(Post.self) { @Sendable in $0.isNew }`.
  public static func query<T: Identifiable & Sendable>(
    _ type: T.Type, where condition: @escaping @Sendable (T) -> Bool = { _ in true },
    sort order: (@Sendable (T, T) -> Bool)? = nil
  ) -> SnapshotPart<[T]> where Value == [T] {
    SnapshotPart<[T]> { $0.query(type, where: condition, sort: order) }
  }
}
