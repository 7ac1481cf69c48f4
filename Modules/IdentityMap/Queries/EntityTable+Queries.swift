extension EntityTable {
  func begin(_ query: QueryNode<T>) {
    if queries.isEmpty { core.tables.withQueries.append(self) }
    queries.append(query)
    query.isNew = core.journal != nil
    index.forEach { $0.flags.insert(.queried) }
    query.settle(present.map { .init(node: $0, isChanged: true) })
    core.loosen(query)
  }

  func end(_ query: QueryNode<T>) {
    queries.removeAll { $0 === query }
    guard queries.isEmpty else { return }
    core.tables.withQueries.removeAll { $0 === self }
    notedForQueries = []
    index.forEach { $0.flags.remove(.queried) }
  }

  func noteForQueries(_ node: EntityNode<T>, isChanged: Bool, isTold: Bool = true) {
    notedForQueries.append(.init(node: node, isChanged: isChanged, isTold: isTold))
  }

  /// What the queries will have to look at when the transaction ends.
  var allNotes: [QueryNode<T>.Note] {
    notedForQueries
      + core.changed.compactMap { node in
        guard node.flags.contains(.queried) else { return nil }
        return (node as? EntityNode<T>).map { .init(node: $0, isChanged: true) }
      }
  }
}
