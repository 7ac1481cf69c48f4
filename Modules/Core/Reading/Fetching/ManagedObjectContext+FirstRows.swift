extension ManagedObjectContext {
  /// Returns the stored rows of a query without an offset, in the query's order and limit. Unsaved changes are ignored.
  /// The context evaluates the parts of the query that the store leaves to it.
  final func firstRows(of query: StoreQuery, in store: any PersistentStore) throws -> [Row] {
    let predicate = try query.predicate.map { try PreparedPredicate($0, for: query.entity) }
    let order = try PreparedOrder(query.sortKeys, for: query.entity)
    let source = StoredRecords(context: self)
    let limit = query.limit ?? Int.max
    let fetch = try beginFetch(query, from: reader(for: store))
    var rows: [Row] = []
    try forEachBatch(
      of: fetch.cursor, of: query.entity, while: { !fetch.isOrderExact || rows.count < limit }
    ) { batch in
      guard !fetch.isPredicateExact, let predicate else { return rows += batch }
      rows += try source.matching(batch, predicate, of: query.entity)
    }
    if !fetch.isOrderExact {
      let records = rows.map { RecordState($0) }
      for key in query.sortKeys { try source.preload(try ResolvedPath(key.path, from: query.entity), of: records) }
      let decorated = try zip(records, rows).map { (values: try order.sortValues(of: $0, in: source), row: $1) }
      rows = decorated.sorted { left, right in
        let comparison = order.order(left.values, right.values)
        return comparison == 0 ? left.row.key < right.row.key : comparison < 0
      }.map(\.row)
    }
    return Array(rows.prefix(limit))
  }
}
