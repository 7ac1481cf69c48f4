import CoherenceCore

extension InMemoryStore: RecordClaiming {
  func claim(_ query: StoreQuery, setting values: [Int: AttributeValue]) throws -> [Row]? {
    try writableContent().change { state in
      let claimed = try state.rows(for: query).map { $0.revised(setting: values) }
      guard !claimed.isEmpty else { return [] }
      var transaction = InMemoryTransaction(state)
      for row in claimed { try transaction.setRow(row, key: row.key, of: row.entity) }
      state = try transaction.finished()
      return claimed
    }
  }
}
