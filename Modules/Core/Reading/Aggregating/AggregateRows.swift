/// Rows computed from groups of records.
struct AggregateRows {
  /// The values of all rows, row after row.
  let values: [AttributeValue]
  /// The number of columns: one at least.
  let width: Int
  /// The number of rows.
  var count: Int { values.count / width }
}

/// Makes the rows of a plan from groups: computes averages, and filters, orders and cuts the groups unless the store
/// has done so.
struct AggregateRowBuilder {
  private let plan: AggregatePlan

  init(_ plan: AggregatePlan) { self.plan = plan }

  /// - Throws: ``ErrorCode/arithmeticOverflow`` for a sum of a row that its type cannot hold.
  func rows(of groups: StoreGroups) throws -> AggregateRows {
    let width = plan.columns.keys.count + plan.columns.aggregates.count
    let starts = Array(stride(from: 0, to: groups.values.count, by: width))
    let startsOfRows = try groups.isRangeExact ? starts[...] : startsInRange(starts, groups)
    var values: [AttributeValue] = []
    values.reserveCapacity(startsOfRows.count * plan.outputs.count)
    for start in startsOfRows {
      for column in plan.outputs {
        let value = plan.columns.value(of: column, in: groups.values, at: start)
        try plan.columns.check(value, of: column)
        values.append(value)
      }
    }
    return AggregateRows(values: values, width: plan.outputs.count)
  }

  /// The start indices of the groups that satisfy the having predicate, in order, and in the range.
  private func startsInRange(_ starts: [Int], _ groups: StoreGroups) throws -> ArraySlice<Int> {
    let range = FetchRange(offset: plan.query.offset, limit: plan.query.limit)
    let having = groups.isHavingExact ? nil : plan.having
    guard having != nil || !groups.isOrderExact else { return range.part(of: starts) }
    var rows: [(start: Int, values: [AttributeValue])] = []
    for start in starts {
      let row = plan.columns.columns.indices.map { plan.columns.value(of: $0, in: groups.values, at: start) }
      if try having?.matches(row) != false { rows.append((start, row)) }
    }
    guard !groups.isOrderExact else { return range.part(of: rows.map(\.start)) }
    let sorted = rows.map { (start: $0.start, values: sortable($0.values)) }.sorted { precedes($0.values, $1.values) }
    return range.part(of: sorted.map(\.start))
  }

  /// The values that decide about the order, without the differences that options ignore.
  private func sortable(_ row: [AttributeValue]) -> [AttributeValue] {
    plan.query.order.map { row[$0.column].folded($0.options) }
  }

  /// Whether the values of a group come before the values of another group in the order.
  private func precedes(_ left: [AttributeValue], _ right: [AttributeValue]) -> Bool {
    for (index, key) in plan.query.order.enumerated() {
      let order = key.missingValues.order(left[index], right[index], isAscending: key.isAscending)
      if order != 0 { return order < 0 }
    }
    return false
  }
}
