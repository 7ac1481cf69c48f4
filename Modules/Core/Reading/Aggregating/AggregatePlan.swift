/// An aggregate request with resolved names, with columns reduced to keys and aggregates, and with the decision which
/// unsaved changes matter.
struct AggregatePlan {
  /// The plan of the fetch whose records are grouped.
  let fetch: FetchPlan
  let columns: GroupColumns
  let groups: PreparedGroups
  let query: AggregateQuery
  let having: PreparedHaving?
  /// The columns of the result.
  let outputs: [Int]

  /// - Parameters:
  ///   - current: Returns the present identifier of a record for a former one, which a having predicate may contain.
  ///   - unsaved: The hierarchies with unsaved records, as in the plan of the fetch.
  init<Result>(
    _ request: AggregateRequest<Result>, _ fetch: FetchPlan, current: (ManagedObjectID) -> ManagedObjectID,
    unsaved: UnsavedHierarchies
  ) throws {
    guard request.fetchOffset >= 0, request.fetchLimit.map({ $0 >= 0 }) != false else {
      throw CoherenceError(.invalidFetchRequest, "Limit and offset of an aggregate request cannot be negative.")
    }
    guard !request.propertiesToFetch.isEmpty else {
      throw CoherenceError(
        .invalidFetchRequest, "The aggregate request fetches no property; add a group key or an aggregate.")
    }
    let entity = fetch.query.entity
    var columns = try GroupColumns(groupedBy: request.propertiesToGroupBy.map { PropertyPath($0) }, of: entity)
    outputs = try request.propertiesToFetch.map { column throws(CoherenceError) in
      try columns.index(of: PropertyPath(column.expression))
    }
    // Named after the last expression, because the name of a column hides a property of that name.
    for (index, column) in zip(outputs, request.propertiesToFetch) { columns.name(index, column.name) }
    let condition = try request.havingPredicate?.flattened().replacingReferences(current)
    let having = try condition?.mappingPaths { path throws(CoherenceError) in
      PropertyPath(names: ["\(try columns.index(of: path))"])
    }
    let order = try Self.order(request.sortKeys, &columns)
    self.having = try having.map { try PreparedHaving($0, on: columns) }
    self.columns = columns
    groups = try PreparedGroups(keys: columns.keys, aggregates: columns.aggregates, for: entity)
    self.fetch = columns.readPaths.contains(where: unsaved.areRead(along:)) ? fetch.dependingOnUnsaved() : fetch
    query = AggregateQuery(
      records: self.fetch.unorderedQuery, keys: columns.keys, aggregates: columns.aggregates,
      columns: columns.columns.map(\.source), having: self.having?.predicate, order: order,
      limit: request.fetchLimit, offset: request.fetchOffset)
  }

  /// The order of the request, followed by the group keys, which make it total.
  private static func order(
    _ sortKeys: [SortKey], _ columns: inout GroupColumns
  ) throws -> [AggregateQuery.Order] {
    var order: [AggregateQuery.Order] = []
    for key in sortKeys {
      let index = try columns.index(of: key.path)
      let column = columns.columns[index]
      guard key.options.isEmpty || column.storage == .string else {
        throw CoherenceError(
          .invalidFetchRequest,
          "'\(column.label)' is not text; only text is ordered without regard to case or diacritics.")
      }
      order.append(
        AggregateQuery.Order(
          column: index, isAscending: key.isAscending, options: key.options, missingValues: key.missingValues))
    }
    for index in columns.keys.indices where !order.contains(where: { $0.column == index && $0.options.isEmpty }) {
      order.append(AggregateQuery.Order(column: index))
    }
    return order
  }

  /// Whether the fetch has a limit or an offset, so that its order decides which records are grouped.
  var hasRangeOfRecords: Bool { fetch.query.limit != nil || fetch.query.offset > 0 }

  /// The query for partial groups, which the context combines.
  func partialQuery(except ids: [ManagedObjectID]) -> AggregateQuery {
    var query = query
    query.records = fetch.query(except: ids)
    query.having = nil
    query.order = []
    query.limit = nil
    query.offset = 0
    return query
  }

  /// The paths to other records whose values the keys and aggregates read, each once.
  var preloadedPaths: [ResolvedPath] {
    var paths: [ResolvedPath] = []
    for case let path? in columns.readPaths.map(\.toOtherRecords) where !paths.contains(path) { paths.append(path) }
    return paths
  }
}
