/// What a save wants to change of one record: what the record says, unless other terms were found for it.
struct RecordChange {
  // Safety of `Unmanaged`: the gatherer of the change keeps the record, for as long as it is in use, so that references need not be counted.
  private let unmanaged: Unmanaged<PendingRecord>
  /// The values to write instead of the record's own.
  private let terms: Terms?

  private final class Terms {
    let kind: PendingRecord.Kind
    let base: Row?
    let changed: SlotSet
    let row: Row?
    let isWritten: Bool
    let baseVersion: Int64
    let overtaken: OvertakenEdits?

    init(
      _ kind: PendingRecord.Kind, base: Row?, row: Row?, changed: SlotSet, baseVersion: Int64?,
      overtaken: OvertakenEdits?
    ) {
      self.overtaken = overtaken
      self.kind = kind
      self.base = base
      self.changed = changed
      self.row = row ?? base
      self.baseVersion = baseVersion ?? base?.version ?? 0
      isWritten = row != nil && kind != .deleted
    }
  }

  /// What the record says, whose draft is sealed if it is written.
  init(_ record: PendingRecord) {
    unmanaged = Unmanaged.passUnretained(record)
    terms = nil
  }

  /// - Parameters:
  ///   - row: The row to write, references permanent; `nil` when none is written.
  ///   - baseVersion: The version that the store must have; `nil` for the base's.
  ///   - overtaken: The edits that a conflict is to be reported for, though they are on top of the base.
  init(
    _ record: PendingRecord, kind: PendingRecord.Kind, base: Row?, row: Row?, changed: SlotSet,
    baseVersion: Int64? = nil, overtaken: OvertakenEdits? = nil
  ) {
    unmanaged = Unmanaged.passUnretained(record)
    terms = Terms(kind, base: base, row: row, changed: changed, baseVersion: baseVersion, overtaken: overtaken)
  }

  var record: PendingRecord { unmanaged.takeUnretainedValue() }
  var entity: EntityDescription { unmanaged._withUnsafeGuaranteedRef { $0.entity } }
  var object: ManagedObject? { unmanaged._withUnsafeGuaranteedRef { $0.object } }
  /// Whether the record is still to be saved.
  var isCurrent: Bool { unmanaged._withUnsafeGuaranteedRef { $0.isCurrent } }
  /// Whether members of to-many relationships were added or removed.
  var hasMembers: Bool { unmanaged._withUnsafeGuaranteedRef { $0.hasMembers } }
  /// The record's permanent identifier.
  var id: ManagedObjectID { unmanaged._withUnsafeGuaranteedRef { $0.permanentID } }
  var kind: PendingRecord.Kind { terms?.kind ?? unmanaged._withUnsafeGuaranteedRef { $0.kind } }
  /// The row that the store is expected to have.
  var base: Row? { if let terms { terms.base } else { unmanaged._withUnsafeGuaranteedRef { $0.base } } }
  /// The version that the store must have.
  var baseVersion: Int64 { terms?.baseVersion ?? unmanaged._withUnsafeGuaranteedRef { $0.baseVersion } }
  private var overtaken: OvertakenEdits? {
    if let terms { terms.overtaken } else { unmanaged._withUnsafeGuaranteedRef { $0.overtaken } }
  }
  /// The state that the changes were made on: the base, but for edits that were made on an older one.
  var ancestor: Row? {
    guard let base, let overtaken else { return base }
    return overtaken.ancestor(of: base)
  }
  /// Whether the members or the order of an ordered relationship change.
  var changesLists: Bool { kind == .updated && unmanaged._withUnsafeGuaranteedRef { $0.changesLists } }
  /// Whether nothing changes but the record's places in the orders of others.
  var changesPlacesOnly: Bool {
    !changed.isEmpty && changed.allSatisfy { if case .position = entity.slots[$0] { true } else { false } }
  }
  /// The slots that differ from the base.
  var changed: SlotSet { terms?.changed ?? unmanaged._withUnsafeGuaranteedRef { $0.changed } }
  /// The row to write; for a delete and for a change of links alone, the base.
  var row: Row? {
    if let terms { return terms.row }
    return unmanaged._withUnsafeGuaranteedRef { $0.isWritten ? $0.draft : $0.base }
  }

  /// Whether the save writes ``row``.
  var isWritten: Bool { terms?.isWritten ?? unmanaged._withUnsafeGuaranteedRef { $0.isWritten } }

  /// The change with another place in an order.
  func placed(at place: Int64, slot: Int) -> RecordChange {
    var changed = changed
    if base?[slot] == .int(place) { changed.remove(slot) } else { changed.insert(slot) }
    guard var values = (row ?? base)?.values else { return self }
    values[slot] = .int(place)
    let written = Row.make(id: id, entity: entity, version: Self.version(after: base), values: values)
    let isWritten = kind == .inserted || !changed.isEmpty || changesLists
    return RecordChange(
      record, kind: kind, base: base, row: isWritten ? written : nil, changed: changed, baseVersion: baseVersion,
      overtaken: overtaken)
  }

  /// Has the record give up its object: the save is through.
  func retire() { unmanaged._withUnsafeGuaranteedRef { $0.object = nil } }

  /// The version of the row to write.
  static func version(after base: Row?) -> Int64 { (base?.version ?? 0) + 1 }
}
