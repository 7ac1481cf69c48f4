/// The cached rows of a store, for one reader of the store.
struct LeasedRows {
  let cache: RowCache
  let cached: CachedStore
  let reader: any StoreReader
  /// The value of ``RowCache/stepCount`` when the reader was made.
  let readerStep: Int

  /// The cached row of a record, if the reader would read the same row; `nil` otherwise.
  func row(_ id: ManagedObjectID) throws -> Row? {
    guard let (row, mark) = cache.candidate(id, in: cached) else { return nil }
    if try cached.store.stateMark(of: reader) == mark { return row }
    cache.countMisses(1)
    return nil
  }

  /// The cached rows of records, if the reader would read the same rows. Removes their keys from `keys`.
  func rows(_ keys: inout [Int64], in space: IDSpace) throws -> [Row] {
    guard let found = cache.candidates(keys, in: space, of: cached) else { return [] }
    guard try cached.store.stateMark(of: reader) == found.mark else {
      cache.countMisses(found.rows.count)
      return []
    }
    keys = found.missing
    return found.rows
  }

  /// Drops the cached rows if the reader sees a later state. A fetch calls this before it replaces the rows that it
  /// read by shared rows of the same version: another program may have written without raising versions, and the shared
  /// rows would hide its changes.
  func renew() {
    guard let mark = try? cached.store.stateMark(of: reader) else { return }
    cache.renew(cached, to: mark, readerStep: readerStep)
  }

  /// Caches the row of a record that the reader read singly, from the second read on.
  func enter(_ row: Row) {
    guard cache.wasReadBefore(row.id), let mark = try? cached.store.stateMark(of: reader) else { return }
    cache.enter(row, in: cached, at: mark, readerStep: readerStep)
  }

  /// Caches rows that the reader has read.
  func enter(_ rows: some Collection<Row>) {
    // The read succeeded already. Rows of an unknown state are returned but not cached.
    guard !rows.isEmpty, let mark = try? cached.store.stateMark(of: reader) else { return }
    cache.enter(rows, in: cached, at: mark, readerStep: readerStep)
  }
}
