/// The latest changes of a store; see ``EntityStore/changeLog``. By default the log has no records.
final class ChangeLog {
  /// The records at one moment.
  struct Content {
    /// The number of changes so far, overwritten changes included and rolled back changes excluded.
    fileprivate var count = 0
    fileprivate var records: [ChangeRecord] = []
    /// The index of the oldest record, once the records are as many as the limit.
    fileprivate var start = 0
  }

  private let limit: Int
  private(set) var content = Content()

  /// Whether changes are recorded.
  var isKept: Bool { limit > 0 }

  /// The records, in the order of the changes.
  var all: [ChangeRecord] { Array(content.records[content.start...] + content.records[..<content.start]) }

  init(keeping limit: Int = 0) {
    self.limit = max(0, limit)
  }

  /// Adds the record of a change.
  func note<T: Identifiable>(_ kind: ChangeRecord.Kind, _ type: T.Type, _ id: T.ID, origin: String?) {
    guard isKept else { return }
    let record = ChangeRecord(number: content.count + 1, kind: kind, type: "\(type)", id: "\(id)", origin: origin)
    content.count += 1
    guard content.records.count == limit else { return content.records.append(record) }
    content.records[content.start] = record
    content.start = (content.start + 1) % limit
  }

  /// Restores the records of an earlier moment, after the changes since then were rolled back.
  func restore(_ former: Content) { content = former }
}
