import CoherenceCore
import CoherenceSQL

extension PostgreSQLReader: KeyReading {
  func keys(_ query: StoreQuery) throws -> [Int64]? {
    guard let statement = try store.planner.orderedKeys(query) else { return nil }
    let result = try self.result(of: statement)
    // The column of the keys has no missing values.
    return (0..<result.rowCount).compactMap { result.int($0, 0) }
  }
}
