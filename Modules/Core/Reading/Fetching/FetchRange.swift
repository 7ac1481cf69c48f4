/// The remaining offset and limit of a fetch, counted down while its records arrive in order.
struct FetchRange {
  private(set) var offset: Int
  private(set) var limit: Int?

  init(offset: Int, limit: Int?) {
    self.offset = offset
    self.limit = limit
  }

  /// Whether more records are wanted.
  var isOpen: Bool { limit != 0 }

  /// Counts the next record.
  ///
  /// - Returns: Whether the record is in the range.
  mutating func includesNext() -> Bool {
    if offset > 0 {
      offset -= 1
      return false
    }
    guard isOpen else { return false }
    limit = limit.map { $0 - 1 }
    return true
  }

  /// Counts the next rows, and returns the rows in the range.
  mutating func takeNext(_ rows: [Row]) -> [Row] {
    let skipped = min(offset, rows.count)
    let taken = limit.map { min($0, rows.count - skipped) } ?? rows.count - skipped
    offset -= skipped
    limit = limit.map { $0 - taken }
    return taken == rows.count ? rows : Array(rows[skipped..<(skipped + taken)])
  }

  /// Returns the part of a complete result in the range. To be used without counting.
  func part<Records: RandomAccessCollection>(of records: Records) -> Records.SubSequence where Records.Index == Int {
    let start = min(offset, records.count)
    let end = limit.map { start + min($0, records.count - start) } ?? records.count
    return records[(records.startIndex + start)..<(records.startIndex + end)]
  }
}
