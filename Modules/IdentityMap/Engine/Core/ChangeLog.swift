/// The latest changes of a store; see ``EntityStore/changeLog``. By default the log has no records.
final class ChangeLog {
  private let limit: Int
  /// The number of changes so far, overwritten changes included and rolled back changes excluded.
  private(set) var count = 0
  private var records: [ChangeRecord] = []
  /// The index of the oldest record, once the records are as many as the limit.
  private var start = 0

  /// Whether changes are recorded.
  var isKept: Bool { limit > 0 }

  /// The records, in the order of the changes.
  var all: [ChangeRecord] { Array(records[start...] + records[..<start]) }

  init(keeping limit: Int = 0) {
    self.limit = max(0, limit)
  }

  /// Adds the record of a change.
  func note<T: Identifiable>(_ kind: ChangeRecord.Kind, _ type: T.Type, _ id: T.ID, origin: String?) {
    guard isKept else { return }
    let record = ChangeRecord(number: count + 1, kind: kind, type: "\(type)", id: "\(id)", origin: origin)
    count += 1
    guard records.count == limit else { return records.append(record) }
    records[start] = record
    start = (start + 1) % limit
  }

  /// Discards the records after a number of changes, which were rolled back. Records that these have overwritten are
  /// lost.
  func truncate(to count: Int) {
    guard count < self.count else { return }
    (records, start) = (all.filter { $0.number <= count }, 0)
    self.count = count
  }
}
