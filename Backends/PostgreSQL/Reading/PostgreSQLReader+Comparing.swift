import CoherenceCore
import CoherenceSQL

extension PostgreSQLReader: RowComparing {
  func compare(_ query: StoreQuery, with expectation: any RowExpectation) throws -> Bool {
    let plan = try store.planner.select(query)
    guard plan.isPredicateExact else { return false }
    let decoder = PostgreSQLRowDecoder(plan.layout, spaces: store.spaces)
    let statement = plan.statement.rendered(by: PostgreSQLDialect())
    // An error of the expectation ends the comparison, not the transaction.
    var refusal: (any Error)?
    try read { connection in
      try connection.timed([statement.text]) {
        try send(statement, afterSavepoint: true, connection)
        try connection.beginRows()
        refusal = try receive(decoder, expectation, connection)
      }
    }
    if let refusal { throw refusal }
    return true
  }

  /// Passes the received rows to the expectation, until the last row or an error of the expectation. Returns the error.
  private func receive(
    _ decoder: PostgreSQLRowDecoder, _ expectation: any RowExpectation, _ connection: PostgreSQLConnection
  ) throws -> (any Error)? {
    let keySlots = expectation.keySlots
    var key = [AttributeValue](repeating: .null, count: keySlots.count)
    while let result = try connection.receiveRow() {
      do {
        try decoder.put(PostgreSQLResultRow(result: result, index: 0), to: expectation, keySlots: keySlots, key: &key)
      } catch {
        try connection.cancel(rollingBackTo: Self.savepoint)
        return error
      }
    }
    return nil
  }
}
