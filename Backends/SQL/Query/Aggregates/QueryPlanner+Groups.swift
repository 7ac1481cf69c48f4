package import CoherenceCore

extension QueryPlanner {
  /// Returns the statement of an aggregate query; `nil` when SQL cannot express its records, keys and aggregates
  /// exactly.
  ///
  /// A having predicate or an order without an exact translation is left out of the statement, which then returns all
  /// groups.
  ///
  /// - Throws: ``ErrorCode/noStore`` for an entity that the store does not hold.
  package func groups(_ query: AggregateQuery) throws -> GroupPlan? {
    let (_, filtered, filter) = try scopedFilter(of: query.records)
    var scope = filtered
    guard filter.isExact, let terms = GroupTerms(query, in: &scope, of: self) else { return nil }
    var statement: SQLFragment = "SELECT \(terms.selection) FROM \(scope.tables)"
    statement += filter.clause
    if !query.keys.isEmpty { statement += " GROUP BY \(Self.ordinals(query.keys.indices))" }
    let having = having(query, terms, scope, filter)
    if let having { statement += having }
    let order = having == nil ? nil : order(query, terms)
    if let order, !order.segments.isEmpty { statement += " ORDER BY \(order)" }
    if order != nil { statement += range(limit: query.limit, offset: query.offset) }
    return GroupPlan(
      statement: statement, columns: terms.columns(spaces), isHavingExact: having != nil, isOrderExact: order != nil,
      isRangeExact: order != nil)
  }

  private static func ordinals(_ indices: Range<Int>) -> SQLFragment {
    indices.map { "\(number: $0 + 1)" as SQLFragment }.joined(separator: ", ")
  }

  /// The clause of the having predicate, empty without a predicate; `nil` for a predicate without an exact translation.
  private func having(
    _ query: AggregateQuery, _ terms: GroupTerms, _ scope: JoinScope, _ filter: Filter
  ) -> SQLFragment? {
    guard let predicate = query.having else { return "" }
    // Old engines know HAVING only after GROUP BY.
    guard !query.keys.isEmpty else { return nil }
    var scope = scope
    scope.columns = terms.columnOperands(query)
    guard let condition = translator.condition(predicate, in: &scope),
      condition.bindingCount(bindsArrays: dialect.bindsArrays) + filter.bindingCount(dialect)
        <= dialect.maximumBindings,
      condition.valueCount <= dialect.maximumValues
    else { return nil }
    return " HAVING \(condition)"
  }

  /// The terms for the ORDER BY clause; `nil` for a criterion without an exact translation.
  private func order(_ query: AggregateQuery, _ terms: GroupTerms) -> SQLFragment? {
    let operands = terms.columnOperands(query)
    let translator = self.translator
    var result: [SQLFragment] = []
    for key in query.order {
      // The number of a column needs no repetition of the column's parameters.
      let ordinal = key.options.isEmpty ? terms.ordinal(query.columns[key.column]) : nil
      let plain = ordinal == nil ? operands[key.column] : terms.operand(query.columns[key.column])
      guard let operand = plain.flatMap({ translator.folded($0, key.options) }) else { return nil }
      let term = ordinal.map { "\(number: $0)" as SQLFragment } ?? operand.sql
      result.append(
        orderTerm(term, of: operand, isAscending: key.isAscending, missingValues: key.missingValues))
    }
    return result.joined(separator: ", ")
  }
}

extension QueryPlanner.Filter {
  fileprivate func bindingCount(_ dialect: any SQLDialect) -> Int {
    conditions.reduce(0) { $0 + $1.bindingCount(bindsArrays: dialect.bindsArrays) }
  }
}

/// The SQL of the keys and aggregates of an aggregate query.
private struct GroupTerms {
  private let keys: [QueryOperand]
  private let aggregates: [QueryOperand]
  /// The averages that the engine computes, by the index of the sum of the same operand among the aggregates.
  private let averages: [Int: QueryOperand]
  /// The indices of the sums among the aggregates.
  private let sums: Set<Int>

  /// Returns `nil` for a key or an aggregate without an exact translation.
  init?(_ query: AggregateQuery, in scope: inout JoinScope, of planner: QueryPlanner) {
    let translator = planner.translator
    let aggregateTranslator = AggregateTranslator(dialect: planner.dialect)
    var keys: [QueryOperand] = []
    for path in query.keys {
      guard let key = translator.operand(path, in: &scope) else { return nil }
      keys.append(key)
    }
    var aggregates: [QueryOperand] = []
    var averages: [Int: QueryOperand] = [:]
    for (index, aggregate) in query.aggregates.enumerated() {
      var operand: QueryOperand?
      if let path = aggregate.path {
        operand = translator.operand(path, in: &scope)
        if operand == nil { return nil }
      }
      guard let term = aggregateTranslator.groupAggregate(aggregate.function, of: operand) else { return nil }
      aggregates.append(term)
      if aggregate.function == .sum { averages[index] = operand.flatMap { aggregateTranslator.average($0) } }
    }
    self.keys = keys
    self.aggregates = aggregates
    self.averages = averages
    sums = Set(query.aggregates.indices.filter { query.aggregates[$0].function == .sum })
  }

  var selection: SQLFragment { (keys + aggregates).map(\.sql).joined(separator: ", ") }

  func columns(_ spaces: IDSpaces) -> [GroupPlan.Column] {
    keys.map { key in
      GroupPlan.Column(storage: key.storage, space: key.root.map { spaces[$0] }, isSum: key.mayBeOutOfRange)
    }
      + aggregates.enumerated().map { index, term in
        GroupPlan.Column(storage: term.storage, space: nil, isSum: sums.contains(index) || term.mayBeOutOfRange)
      }
  }

  /// The operands of the query's columns, to be repeated in a condition or an order; `nil` for a column that these
  /// cannot repeat: to an engine, a group key with other parameters is another expression.
  func columnOperands(_ query: AggregateQuery) -> [QueryOperand?] {
    query.columns.map { column in
      if case .key(let index) = column, keys[index].sql.bindingCount(bindsArrays: true) > 0 { return nil }
      return operand(column)
    }
  }

  /// The operand of a column; `nil` for an average that the engine does not compute.
  func operand(_ column: GroupColumnSource) -> QueryOperand? {
    switch column {
    case .key(let index): keys[index]
    case .aggregate(let index): aggregates[index]
    case .average(let sum, _): averages[sum]
    }
  }

  /// The number of a column in the statement, from 1 on; `nil` for a column that the statement does not return.
  func ordinal(_ column: GroupColumnSource) -> Int? {
    switch column {
    case .key(let index): index + 1
    case .aggregate(let index): keys.count + index + 1
    case .average: nil
    }
  }
}
