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
