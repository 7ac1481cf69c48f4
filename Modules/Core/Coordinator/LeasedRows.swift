/// The kept rows of a store for one reader of it.
struct LeasedRows {
  let cache: RowCache
  let cached: CachedStore
  let reader: any StoreReader
  /// What ``RowCache/stepCount`` was when the reader was made.
  let readerStep: Int

  /// The kept row of a record, if it is the one that the reader would read.
  func row(_ id: ManagedObjectID) throws -> Row? {
    guard let (row, mark) = cache.candidate(id, in: cached) else { return nil }
    if try cached.store.stateMark(of: reader) == mark { return row }
    cache.countMisses(1)
    return nil
  }

  /// The kept rows of records, if they are the ones that the reader would read. Their keys are taken out.
  func rows(_ keys: inout [Int64], in space: IDSpace) throws -> [Row] {
    guard let found = cache.candidates(keys, in: space, of: cached) else { return [] }
    guard try cached.store.stateMark(of: reader) == found.mark else {
      cache.countMisses(found.rows.count)
      return []
    }
    keys = found.missing
    return found.rows
  }

  /// Drops the kept rows if the reader sees a later state. A fetch calls it before rows that it read are replaced by rows in use at
  /// the same version: a program that writes without raising versions must not be shown as it was before.
  func renew() {
    guard let mark = try? cached.store.stateMark(of: reader) else { return }
    cache.renew(cached, to: mark, readerStep: readerStep)
  }

  /// Keeps a row that the reader has read by itself, unless this was the first time.
  func enter(_ row: Row) {
    guard cache.wasReadBefore(row.id), let mark = try? cached.store.stateMark(of: reader) else { return }
    cache.enter(row, in: cached, at: mark, readerStep: readerStep)
  }

  /// Keeps rows that the reader has read.
  func enter(_ rows: some Collection<Row>) {
    // The rows are there: that their state is not known is no failure of the read.
    guard !rows.isEmpty, let mark = try? cached.store.stateMark(of: reader) else { return }
    cache.enter(rows, in: cached, at: mark, readerStep: readerStep)
  }
}
