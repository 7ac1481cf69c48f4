import CoherenceCore
import CoherenceSQL

extension SQLiteReader: KeyReading {
  func keys(_ query: StoreQuery) throws -> [Int64]? {
    guard let statement = try store.planner.orderedKeys(query) else { return nil }
    return try read { try $0.integers(statement) }
  }
}
