/// The last changes of a store, for debugging. By default it keeps none.
final class ChangeHistory {
  private let limit: Int
  /// The number of changes so far, overwritten ones included.
  private(set) var count = 0
  private var records: [ChangeRecord] = []
  /// The index of the oldest record, once the records are as many as the limit.
  private var start = 0

  var isKept: Bool { limit > 0 }

  /// In the order of the changes.
  var all: [ChangeRecord] { Array(records[start...] + records[..<start]) }

  init(keeping limit: Int = 0) {
    self.limit = max(0, limit)
  }

  func note<T: Identifiable>(_ kind: ChangeRecord.Kind, _ type: T.Type, _ id: T.ID, origin: String?) {
    guard isKept else { return }
    let record = ChangeRecord(number: count + 1, kind: kind, type: "\(type)", id: "\(id)", origin: origin)
    count += 1
    guard records.count == limit else { return records.append(record) }
    records[start] = record
    start = (start + 1) % limit
  }

  /// Keeps a number of changes and discards the later ones, which were rolled back. Records that they overwrote are
  /// lost.
  func truncate(to count: Int) {
    guard count < self.count else { return }
    (records, start) = (all.filter { $0.number <= count }, 0)
    self.count = count
  }
}
