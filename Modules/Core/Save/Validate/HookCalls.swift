/// The calls of validation hooks in a save, for the records whose hooks have to be called again.
///
/// A record that the hooks of another record change is validated after the change. An object that changes itself in its
/// own hooks is not validated again.
struct HookCalls {
  /// The records of the first pass over all unsaved records, in the order of their calls.
  private let records: [PendingRecord]
  /// The index of each record in ``records``. Made at the first change, because most hooks change nothing.
  private lazy var indexes = Dictionary(
    records.enumerated().map { (ObjectIdentifier($1), $0) }, uniquingKeysWith: { first, _ in first })
  /// The records whose hooks were called after the first pass. Retained, so that no new record gets the address of one.
  private var laterRecords: [ObjectIdentifier: PendingRecord] = [:]
  private var recordsToRepeat: [PendingRecord] = []

  init(_ records: [PendingRecord]) { self.records = records }

  var hasRecordsToRepeat: Bool { !recordsToRepeat.isEmpty }

  /// Notes the records that hooks changed in the first pass. Records after the index are called anyway.
  mutating func noteChanges(of changed: [PendingRecord], byRecordAt index: Int) {
    for record in changed {
      if let called = indexes[ObjectIdentifier(record)], called < index { recordsToRepeat.append(record) }
    }
  }

  /// Notes a call after the first pass, and the records that it changed.
  mutating func noteChanges(of changed: [PendingRecord], by caller: PendingRecord) {
    laterRecords[ObjectIdentifier(caller)] = caller
    for record in changed where record !== caller {
      let id = ObjectIdentifier(record)
      if indexes[id] != nil || laterRecords[id] != nil { recordsToRepeat.append(record) }
    }
  }

  mutating func takeRecordsToRepeat() -> [PendingRecord] {
    defer { recordsToRepeat = [] }
    var seen: Set<ObjectIdentifier> = []
    return recordsToRepeat.filter { seen.insert(ObjectIdentifier($0)).inserted }
  }
}
