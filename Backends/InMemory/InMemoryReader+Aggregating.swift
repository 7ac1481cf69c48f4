import CoherenceCore

extension InMemoryReader: Aggregating {
  func aggregate(_ query: AggregateQuery) throws -> StoreGroups? {
    let state = try state()
    let table = GroupTable(
      try PreparedGroups(keys: query.keys, aggregates: query.aggregates, for: query.records.entity))
    let records = InMemoryRecords(state)
    try state.forEachRow(of: query.records) { try table.add($0, in: records) }
    return StoreGroups(values: table.values)
  }
}
