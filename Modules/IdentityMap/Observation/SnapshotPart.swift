/// A part of a snapshot; see ``EntityStore/snapshot(of:)``. A part names entities and keeps none; the snapshot does.
public struct SnapshotPart<Value: Sendable>: Sendable {
  /// The node of the part in a store, made when there is none. Under the lock; the caller keeps the node.
  let node: @Sendable (StoreCore) -> ValueNode<Value>
}

extension SnapshotPart {
  /// The entity of an identifier; `nil` while there is none, also after a removal.
  public static func entity<T: Identifiable & Sendable>(_ type: T.Type, id: T.ID) -> SnapshotPart<T?>
  where Value == T?, T.ID: Sendable {
    SnapshotPart<T?> { $0.awaited(type, id: id) }
  }

  /// The entities of identifiers that there are, in the order of the identifiers.
  public static func entities<T: Identifiable & Sendable>(_ type: T.Type, ids: [T.ID]) -> SnapshotPart<[T]>
  where Value == [T], T.ID: Sendable {
    SnapshotPart<[T]> { core in
      let nodes = ids.map { core.awaited(type, id: $0) }
      return SnapshotNode.make(of: nodes, core: core) { nodes.compactMap { $0.read() } }
    }
  }

  /// The entity that an alias stands for; `nil` while the alias stands for nothing.
  public static func alias<T: Identifiable & Sendable>(_ key: AliasKey<T>) -> SnapshotPart<T?> where Value == T? {
    SnapshotPart<T?> { $0.alias(key, shape: .entity()) }
  }

  /// The collection that an alias stands for; `nil` while the alias stands for nothing.
  public static func alias<C: Collection & Sendable>(_ key: AliasKey<C>) -> SnapshotPart<C?>
  where Value == C?, C.Element: Identifiable & Sendable {
    SnapshotPart<C?> { $0.alias(key, shape: .list()) }
  }

  /// The entities of a type that satisfy a condition; see ``EntityStore/query(_:where:sort:)``. As a query does, the part
  /// keeps none of them. A condition that is written in place is marked: `.query(Post.self) { @Sendable in $0.isNew }`.
  public static func query<T: Identifiable & Sendable>(
    _ type: T.Type, where condition: @escaping @Sendable (T) -> Bool = { _ in true },
    sort order: (@Sendable (T, T) -> Bool)? = nil
  ) -> SnapshotPart<[T]> where Value == [T] {
    SnapshotPart<[T]> { $0.query(type, where: condition, sort: order) }
  }
}

extension EntityStore {
  /// Several entities, collections of aliases and queries as one value, which can be followed: a tuple of the parts.
  ///
  /// ```swift
  /// let page = store.snapshot(of: .entity(Post.self, id: 1), .entity(Author.self, id: 7), .alias(.comments))
  /// let subscription = page.observe { post, author, comments in show(post, by: author, comments ?? []) }
  /// for await (post, author, comments) in page.values { … }
  /// ```
  ///
  /// Each delivery has all parts as one whole transaction has left them, and never some parts from before a transaction
  /// and others from after it, which separate observers of the parts may meet. A transaction that changes several parts is
  /// one delivery; of transactions that follow each other faster than they are delivered, the newest state counts. A
  /// delivery that is run inside of a transaction of its own thread waits for the end of that transaction. Only what is
  /// read inside of a transaction, the first value of an observation that begins there included, is what the transaction
  /// has done so far.
  ///
  /// A removal makes a part `nil` or a list shorter. The observer and its subscriptions keep the entities that the parts
  /// name, also those stored later. ``clear()`` ends the subscriptions.
  ///
  /// The cost of a delivery is that of reading all parts with the store locked. As with ``await(_:id:)``, operations on a
  /// type of which a part names an identifier cost a look into a dictionary more as long as the part is followed.
  /// - Parameter part: The parts, in the order of the tuple. One part may contain another, and may occur repeatedly.
  /// - Returns: An observer with all ways of following: closures, `AsyncSequence`, Observation and publishers.
  public func snapshot<each Value: Sendable>(
    of part: repeat SnapshotPart<each Value>
  ) -> EntityObserver<(repeat each Value)> {
    core.exclusively {
      let nodes = (repeat (each part).node(core))
      var children: [Node] = []
      repeat children.append(each nodes)
      return EntityObserver(SnapshotNode.make(of: children, core: core) { (repeat (each nodes).read()) })
    }
  }
}
