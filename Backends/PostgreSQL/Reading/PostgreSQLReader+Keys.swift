import CoherenceCore
import CoherenceSQL

extension PostgreSQLReader: KeyReading {
  func keys(_ query: StoreQuery) throws -> [Int64]? {
    guard let statement = try store.planner.orderedKeys(query) else { return nil }
    // The column of the keys has no missing values.
    return try result(of: statement).integers
  }
}
