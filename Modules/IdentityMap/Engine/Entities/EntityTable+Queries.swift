/// The queries over the type, and the candidates that each commit has them evaluate.
extension EntityTable {
  /// Adds a new query, and evaluates it for all present entities.
  func register(_ query: QueryNode<T>) {
    if queries.isEmpty { core.tables.withQueries.append(self) }
    queries.append(query)
    // The result may include changes that a rollback of the running transaction discards.
    query.isNew = core.undo.log != nil
    index.forEach { $0.flags.insert(.queried) }
    query.update(presentNodes.map { .init(node: $0, isChanged: true) })
    // The commit evicts the query unless its caller retains it.
    core.pending.addEvictionCandidate(query)
  }

  /// Removes an evicted query. Without queries, writes of the type collect no candidates.
  func unregister(_ query: QueryNode<T>) {
    queries.removeAll { $0 === query }
    guard queries.isEmpty else { return }
    core.tables.withQueries.removeAll { $0 === self }
    queryCandidates = []
    index.forEach { $0.flags.remove(.queried) }
  }

  /// Has the queries of the type evaluate an entity at the end of the transaction.
  ///
  /// - Parameters:
  ///   - isChanged: Whether the value has changed. If not, the entity can only enter or leave the results.
  ///   - isReported: Whether observers of the queries are notified of the change of the value.
  func addQueryCandidate(_ node: EntityNode<T>, isChanged: Bool, isReported: Bool = true) {
    queryCandidates.append(.init(node: node, isChanged: isChanged, isReported: isReported))
  }

  /// The candidates that the end of the transaction will have, as far as the transaction has run: a read of a query in
  /// the transaction evaluates them.
  var pendingQueryCandidates: [QueryNode<T>.Candidate] {
    queryCandidates
      + core.pending.changed.compactMap { node in
        guard node.flags.contains(.queried) else { return nil }
        return (node as? EntityNode<T>).map { .init(node: $0, isChanged: true) }
      }
  }
}

extension StoreCore {
  /// Returns a new query. The caller retains the query.
  func query<T: Identifiable & Sendable>(
    _ type: T.Type, where condition: @escaping @Sendable (T) -> Bool, sort order: (@Sendable (T, T) -> Bool)?
  ) -> QueryNode<T> {
    let query = QueryNode(where: condition, sort: order, core: self)
    let table = table(of: type)
    table.prepareSearch()
    table.register(query)
    return query
  }
}
