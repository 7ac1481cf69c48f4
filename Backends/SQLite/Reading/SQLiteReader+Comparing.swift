import CoherenceCore
import CoherenceSQL

extension SQLiteReader: RowComparing {
  func compare(_ query: StoreQuery, with expectation: any RowExpectation) throws -> Bool {
    let plan = try store.planner.select(query)
    guard plan.isPredicateExact else { return false }
    let decoder = SQLiteRowDecoder(plan.layout, spaces: store.spaces)
    let text = plan.statement.rendered(by: SQLiteDialect())
    let keySlots = expectation.keySlots
    var key = [AttributeValue](repeating: .null, count: keySlots.count)
    try read { session in
      let statement = try session.take(text.text)
      defer { session.give(back: statement) }
      try statement.bind(text.bindings)
      try session.logged(text.text) {
        while try statement.step() {
          try decoder.put(statement.handle, to: expectation, keySlots: keySlots, key: &key)
        }
      }
    }
    return true
  }
}
