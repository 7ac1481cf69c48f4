package import CoherenceCore

/// Translates queries of a store into SELECT statements.
package struct QueryPlanner: Sendable {
  let schema: SQLSchema
  let dialect: any SQLDialect
  let spaces: IDSpaces

  package init(schema: SQLSchema, dialect: any SQLDialect, spaces: IDSpaces) {
    self.schema = schema
    self.dialect = dialect
    self.spaces = spaces
  }

  /// The translator of the conditions and operands of queries.
  var translator: PredicateTranslator { PredicateTranslator(schema: schema, dialect: dialect, spaces: spaces) }

  // MARK: Fetches

  /// Returns the statement of a fetch. A condition without an exact translation is left out of the statement, which may
  /// return more rows than match, never fewer.
  ///
  /// - Throws: ``ErrorCode/noStore`` for an entity that the store does not hold.
  package func select(_ query: StoreQuery) throws -> SelectPlan {
    let (table, filtered, filter) = try scopedFilter(of: query)
    let layout = RowLayout(table, entities: query.entities)
    var scope = filtered
    let order = query.isUnordered ? nil : order(query.sortKeys, scope: &scope)
    let isOrderExact = query.isUnordered || order != nil
    var statement: SQLFragment = "SELECT \(layout.selection(alias: scope.alias)) FROM \(scope.tables)"
    statement += filter.clause
    if let order { statement += " ORDER BY \(order)" }
    let canLimit = filter.isExact && isOrderExact
    if canLimit { statement += range(query) }
    return SelectPlan(
      statement: statement, layout: layout, isPredicateExact: filter.isExact, isOrderExact: isOrderExact,
      isRangeExact: canLimit)
  }

  /// The statement for the number of records that satisfy the query's predicate, without its limit and offset; `nil`
  /// when SQL cannot express it exactly.
  package func count(_ query: StoreQuery) throws -> SQLFragment? {
    try matching(query, select: "COUNT(*)")
  }

  /// The statement for the keys of the records that satisfy the predicate of a batch request, in no order; `nil` when
  /// SQL cannot express it exactly, and for a query with limit or offset, which no batch request has.
  package func batchKeys(_ query: StoreQuery) throws -> SQLFragment? {
    guard query.limit == nil, query.offset == 0 else { return nil }
    return try matching(query, select: .column(SQLTable.id, of: "t"))
  }

  /// The statement for the keys of the records that a query finds, in its order and range; `nil` when SQL cannot
  /// express predicate and order exactly.
  package func orderedKeys(_ query: StoreQuery) throws -> SQLFragment? {
    let (_, filtered, filter) = try scopedFilter(of: query)
    var scope = filtered
    guard filter.isExact, let order = order(query.sortKeys, scope: &scope) else { return nil }
    let key = SQLFragment.column(SQLTable.id, of: scope.alias)
    return "SELECT \(key) FROM \(scope.tables)\(filter.clause) ORDER BY \(order)\(range(query))"
  }

  /// The statement for a term over the records that satisfy the query's predicate; `nil` when SQL cannot express it
  /// exactly.
  private func matching(_ query: StoreQuery, select: SQLFragment) throws -> SQLFragment? {
    let (_, scope, filter) = try scopedFilter(of: query)
    guard filter.isExact else { return nil }
    return "SELECT \(select) FROM \(scope.tables)\(filter.clause)"
  }

  // MARK: Records by key

  /// The statement for the rows of a hierarchy by key, up to the comparison with the keys, and the layout of its rows.
  package func rows(of root: EntityDescription) throws -> (select: SQLFragment, layout: RowLayout) {
    let table = try schema.requireTable(for: root)
    let layout = RowLayout(table, entities: table.root.concreteEntities)
    let select: SQLFragment = """
      SELECT \(layout.selection(alias: "t")) FROM \(name: table.name) AS \(name: "t") \
      WHERE \(.column(SQLTable.id, of: "t"))
      """
    return (select + " ", layout)
  }

  /// The statement for the row of a key.
  package func row(_ key: Int64, of root: EntityDescription) throws -> (statement: SQLFragment, layout: RowLayout) {
    let (select, layout) = try rows(of: root)
    return ("\(select)= \(key: key)", layout)
  }

  /// The statement for the rows of several keys.
  package func rows(_ keys: [Int64], of root: EntityDescription) throws -> (statement: SQLFragment, layout: RowLayout) {
    let (select, layout) = try rows(of: root)
    return ("\(select)\(keys: keys)", layout)
  }

  /// The statement for links by the keys of one side: source, target, source's and target's position.
  package func links(_ links: LinkTable, of keys: [Int64], fromSource: Bool) throws -> SQLFragment {
    let table = try schema.requireLinkTable(links)
    let near = fromSource ? table.source : table.target
    let far = fromSource ? table.target : table.source
    let position = fromSource ? table.sourcePosition : table.targetPosition
    let columns = [table.source, table.target, table.sourcePosition, table.targetPosition]
    return """
      SELECT \(names: columns) FROM \(name: table.name) \
      WHERE \(name: near) \(keys: keys) \
      ORDER BY \(name: near), \(name: position)\(dialect.orderSuffix(ascending: true)), \(name: far)
      """
  }

  // MARK: Clauses

  /// The WHERE clause of a query, and the conditions that it leaves out.
  struct Filter {
    /// The conditions that every row of the statement satisfies.
    var conditions: [SQLFragment]
    /// The parts of the predicate that the statement leaves out.
    var residuals: [FetchPredicate] = []
    /// Whether exactly the rows of the query satisfy the conditions.
    var isExact: Bool { residuals.isEmpty }
    /// The clause with a leading space; empty without conditions.
    var clause: SQLFragment {
      conditions.isEmpty ? "" : " WHERE \(conditions.joinedInGroups(by: " AND "))"
    }
  }

  /// The conditions of a query, with its table and the scope of its paths.
  ///
  /// - Throws: ``ErrorCode/noStore`` for an entity that the store does not hold.
  func scopedFilter(of query: StoreQuery) throws -> (table: SQLTable, scope: JoinScope, filter: Filter) {
    let table = try schema.requireTable(for: query.entity)
    var scope = JoinScope(table, entity: query.entity, schema: schema, maximumJoins: dialect.maximumJoins)
    let filter = filter(query, in: table, scope: &scope)
    return (table, scope, filter)
  }

  /// The conditions of a query. The operands of AND at the top of its predicate are translated one by one.
  func filter(_ query: StoreQuery, in table: SQLTable, scope: inout JoinScope) -> Filter {
    var filter = Filter(conditions: entityCondition(query, in: table, alias: scope.alias))
    let translator = self.translator
    var bindings = query.entities.count
    var values = 0
    for part in query.predicate?.conjuncts ?? [] {
      // A condition that the statement leaves out must leave no joins in the scope.
      var attempt = scope
      let condition = translator.condition(part, in: &attempt)
      let count = condition?.bindingCount(bindsArrays: dialect.bindsArrays) ?? 0
      let valueCount = condition?.valueCount ?? 0
      if let condition, bindings + count <= dialect.maximumBindings, values + valueCount <= dialect.maximumValues {
        scope = attempt
        bindings += count
        values += valueCount
        filter.conditions.append(condition)
      } else {
        filter.residuals.append(part)
      }
    }
    return filter
  }

  /// The condition for the entities of a query. A query for all records of a hierarchy has none: the records of an
  /// entity that a newer model adds are records of the root too.
  private func entityCondition(_ query: StoreQuery, in table: SQLTable, alias: String) -> [SQLFragment] {
    let entities = query.entities
    if query.entity === table.root, entities.count == table.root.concreteEntities.count { return [] }
    if entities.isEmpty { return [dialect.boolean(false)] }
    let column = SQLFragment.column(SQLTable.entity, of: alias)
    if entities.count == 1 { return ["\(column) = \(text: table.recordName(of: entities[0]))"] }
    return ["\(column) \(list: entities.map { .string(table.recordName(of: $0)) }, as: .string)"]
  }

  /// The terms for the ORDER BY clause; `nil` for a sort key without an exact translation.
  func order(_ sortKeys: [SortKey], scope: inout JoinScope) -> SQLFragment? {
    let translator = self.translator
    var terms: [SQLFragment] = []
    var attempt = scope
    for key in sortKeys {
      guard let plain = translator.operand(key.path, in: &attempt),
        let operand = translator.folded(plain, key.options)
      else { return nil }
      terms.append(
        orderTerm(operand.sql, of: operand, isAscending: key.isAscending, missingValues: key.missingValues))
    }
    scope = attempt
    terms.append(.column(SQLTable.id, of: scope.alias))
    return terms.joined(separator: ", ")
  }

  /// A term for the ORDER BY clause.
  ///
  /// - Parameter term: The operand's text, or its number among the columns of the statement's result.
  func orderTerm(
    _ term: SQLFragment, of operand: QueryOperand, isAscending: Bool, missingValues: MissingValuePlacement
  ) -> SQLFragment {
    let direction: SQLFragment = isAscending ? "" : " DESC"
    guard operand.isNullable else { return "\(term)\(direction)" }
    let suffix: SQLFragment =
      switch missingValues {
      case .smallest: dialect.orderSuffix(ascending: isAscending)
      case .first: " NULLS FIRST"
      case .last: " NULLS LAST"
      }
    return "\(term)\(direction)\(suffix)"
  }

  /// The LIMIT and OFFSET clauses of a query, with a leading space; empty for all rows.
  func range(_ query: StoreQuery) -> SQLFragment { range(limit: query.limit, offset: query.offset) }

  func range(limit: Int?, offset: Int) -> SQLFragment {
    switch (limit, offset) {
    case (nil, 0): ""
    case (let limit?, 0): " LIMIT \(number: limit)"
    case (let limit, let offset): " LIMIT \(number: limit ?? Int.max) OFFSET \(number: offset)"
    }
  }
}

extension StoreQuery {
  /// The number of records in the query's limit and offset.
  ///
  /// - Parameter total: The number of records that satisfy the query's predicate.
  package func countInRange(of total: Int) -> Int { min(max(total - offset, 0), limit ?? .max) }
}

extension FetchPredicate {
  /// The operands of AND at the top of the predicate; otherwise the predicate itself.
  fileprivate var conjuncts: [FetchPredicate] {
    if case .and(let parts) = self { return parts.flatMap(\.conjuncts) }
    return [self]
  }
}
