import CoherenceCore
import HashTreeCollections

/// A reader of the store in memory. All reads see the state at the first read.
final class InMemoryReader: StoreReader {
  private let store: InMemoryStore
  /// The state at the first read; `nil` before it.
  private var snapshot: InMemoryState?
  private var isFinished = false

  init(_ store: InMemoryStore) { self.store = store }

  func fetch(_ query: StoreQuery) throws -> StoreFetch {
    let rows = try state().rows(for: query)
    return StoreFetch(
      isPredicateExact: true, isOrderExact: true, isRangeExact: true, cursor: InMemoryCursor(rows, of: store))
  }

  func row(_ key: Int64, of root: EntityDescription) throws -> Row? { try state().table(of: root)[key] }

  func rows(_ keys: [Int64], of root: EntityDescription) throws -> [Row] {
    let table = try state().table(of: root)
    return Set(keys).compactMap { table[$0] }
  }

  func links(_ table: LinkTable, of keys: [Int64], fromSource: Bool) throws -> [Link] {
    try state().links(of: table).ordered(of: keys, fromSource: fromSource)
  }

  func count(_ query: StoreQuery) throws -> Int? { try state().count(of: query) }

  func finish() {
    snapshot = nil
    isFinished = true
  }

  /// A cursor over rows of the state.
  func cursor(_ rows: [Row]) -> InMemoryCursor { InMemoryCursor(rows, of: store) }

  /// The state that all reads see, taken at the first call.
  ///
  /// - Throws: ``ErrorCode/storeDetached`` once the store is closed or the reader is finished.
  func state() throws -> InMemoryState {
    let content = try store.openContent()
    if let snapshot { return snapshot }
    guard !isFinished else {
      throw CoherenceError(
        .storeDetached,
        "The reader of the in-memory store is finished; make another reader.")
    }
    let present = content.present
    snapshot = present
    return present
  }
}

/// A cursor over rows in memory, in batches.
final class InMemoryCursor: RowCursor {
  private let store: InMemoryStore
  private var rows: ArraySlice<Row>
  private static let batchSize = 1024

  init(_ rows: [Row], of store: InMemoryStore) {
    self.store = store
    self.rows = rows[...]
  }

  func next(into result: inout [Row]) throws -> Bool {
    // Throws once the store is closed, although the rows are still in memory.
    _ = try store.openContent()
    guard !rows.isEmpty else { return false }
    result.append(contentsOf: rows.prefix(Self.batchSize))
    rows = rows.dropFirst(Self.batchSize)
    return true
  }

  func close() { rows = [] }
}
