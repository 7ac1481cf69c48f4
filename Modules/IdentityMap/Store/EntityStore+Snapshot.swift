extension EntityStore {
  /// A tuple of entities, collections of aliases and queries that observers follow as one value.
  ///
  /// ```swift
  /// let page = store.snapshot(of: .entity(Post.self, id: 1), .entity(Author.self, id: 7), .alias(.comments))
  /// let subscription = page.observe { post, author, comments in show(post, by: author, comments ?? []) }
  /// for await (post, author, comments) in page.values { … }
  /// ```
  ///
  /// Each delivery has all parts after the same transaction, while separate observers of the parts may receive values
  /// from different transactions. A transaction that changes several parts is one delivery; transactions in quick
  /// succession are delivered as their last state. A delivery within a transaction of its own thread waits for the end
  /// of that transaction. Only reads within a transaction, such as the first value of an observation that begins in it,
  /// have the uncommitted changes of the transaction.
  ///
  /// A removal makes a part `nil` or a list shorter. The observer and its subscriptions retain the entities that the
  /// parts name, also those stored later. ``clear()`` ends the subscriptions.
  ///
  /// The cost of a delivery is that of reading all parts with the store locked. While a part names an identifier,
  /// operations on its type cost one more dictionary lookup, as with ``await(_:id:)``.
  /// - Parameter part: The parts, in the order of the tuple. A part may contain another, and may occur repeatedly.
  /// - Returns: An observer with all means of following: closures, `AsyncSequence`, Observation and publishers.
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
