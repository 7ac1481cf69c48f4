/// A save's change of one record: a reference to the unsaved record, and the values to write if they differ from the
/// record's.
struct RecordChange {
  // Safety of `Unmanaged`: `RecordKeeper` proves that the record outlives the change. Bulk saves pass over their
  // changes several times, and counting a reference for each record would take a good part of the time.
  private let unmanaged: Unmanaged<PendingRecord>
  /// The resolved values; `nil` for the record's own.
  private let resolved: Resolved?

  /// Values that differ from the unsaved record's values, because temporary references became permanent, a parent has
  /// unsaved edits, or a merge policy decided.
  private final class Resolved {
    let kind: PendingRecord.Kind
    let base: Row?
    let changed: SlotSet
    let row: Row?
    let isWritten: Bool
    let baseVersion: Int64
    let overtaken: OvertakenEdits?
    let join: RecordJoin?

    init(
      _ kind: PendingRecord.Kind, base: Row?, row: Row?, changed: SlotSet, baseVersion: Int64?,
      overtaken: OvertakenEdits?, join: RecordJoin?
    ) {
      self.overtaken = overtaken
      self.join = join
      self.kind = kind
      self.base = base
      self.changed = changed
      self.row = row ?? base
      self.baseVersion = baseVersion ?? base?.version ?? 0
      isWritten = row != nil && kind != .deleted
    }
  }

  /// A change with the values of the record, whose draft is sealed if the save writes it.
  init(_ record: PendingRecord) {
    unmanaged = Unmanaged.passUnretained(record)
    resolved = nil
  }

  /// A change with resolved values.
  ///
  /// - Parameters:
  ///   - row: The row to write, with permanent references; `nil` when the save writes none.
  ///   - baseVersion: The version that the store must have; `nil` for the base's.
  ///   - overtaken: The edits that the store reports as a conflict, although they are made on the base.
  ///   - join: The record that the change is written to, if the inserted record became another record; `nil` otherwise.
  init(
    _ record: PendingRecord, kind: PendingRecord.Kind, base: Row?, row: Row?, changed: SlotSet,
    baseVersion: Int64? = nil, overtaken: OvertakenEdits? = nil, join: RecordJoin? = nil
  ) {
    unmanaged = Unmanaged.passUnretained(record)
    resolved = Resolved(
      kind, base: base, row: row, changed: changed, baseVersion: baseVersion, overtaken: overtaken, join: join)
  }

  var record: PendingRecord { unmanaged.takeUnretainedValue() }
  var entity: EntityDescription { resolved?.join?.entity ?? unmanaged._withUnsafeGuaranteedRef { $0.entity } }
  var object: ManagedObject? { unmanaged._withUnsafeGuaranteedRef { $0.object } }
  /// Whether the record is still unsaved.
  var isTracked: Bool { unmanaged._withUnsafeGuaranteedRef { $0.isTracked } }
  /// Whether the record is still unsaved, and the row to write still follows the base from the gathering.
  var isAsGathered: Bool { isTracked && (!isWritten || row?.version == Self.version(after: base)) }
  /// Whether members of to-many relationships were added or removed.
  var hasMembers: Bool {
    if let join = resolved?.join { return !join.members.isEmpty }
    return unmanaged._withUnsafeGuaranteedRef { $0.hasMembers }
  }
  /// The members added to and removed from to-many relationships.
  var members: [RelationshipDescription: MemberChanges] { resolved?.join?.members ?? record.members }
  /// The permanent identifier of the record that the change is written to.
  var id: ManagedObjectID { resolved?.join?.id ?? unmanaged._withUnsafeGuaranteedRef { $0.permanentID } }
  /// The record that the change is written to, after inserted records joined it; `nil` for any other change.
  var join: RecordJoin? { resolved?.join }
  /// Whether the pending record is an inserted one that became a stored record.
  var isTakeover: Bool {
    guard let join = resolved?.join else { return false }
    return unmanaged._withUnsafeGuaranteedRef { $0.permanentID != join.id }
  }
  var kind: PendingRecord.Kind { resolved?.kind ?? unmanaged._withUnsafeGuaranteedRef { $0.kind } }
  /// The row that the store is expected to have.
  var base: Row? { if let resolved { resolved.base } else { unmanaged._withUnsafeGuaranteedRef { $0.base } } }
  /// The version of the stored row on which the change is based.
  var baseVersion: Int64 { resolved?.baseVersion ?? unmanaged._withUnsafeGuaranteedRef { $0.baseVersion } }
  /// The edits that the store reports as a conflict, although they are made on the base.
  var overtaken: OvertakenEdits? {
    if let resolved { resolved.overtaken } else { unmanaged._withUnsafeGuaranteedRef { $0.overtaken } }
  }
  /// The state below the changes: the base, with older values in the slots of overtaken edits.
  var ancestor: Row? {
    guard let base, let overtaken else { return base }
    return overtaken.ancestor(of: base)
  }
  /// Whether the members or the order of an ordered relationship change.
  var changesLists: Bool {
    guard kind == .updated else { return false }
    if let join = resolved?.join { return join.members.contains { $0.key.isOrdered && !$0.value.isEmpty } }
    return unmanaged._withUnsafeGuaranteedRef { $0.changesLists }
  }
  /// Whether only the record's positions in ordered lists of other records change.
  var changesPositionsOnly: Bool {
    // Asked first for the entities without such lists.
    guard entity.checked.hasPositions else { return false }
    return !changed.isEmpty && changed.allSatisfy { if case .position = entity.slots[$0] { true } else { false } }
  }
  /// The slots whose values differ from the base's.
  var changed: SlotSet { resolved?.changed ?? unmanaged._withUnsafeGuaranteedRef { $0.changed } }
  /// The row to write; the base for a delete and for a change of links alone.
  var row: Row? {
    if let resolved { return resolved.row }
    return unmanaged._withUnsafeGuaranteedRef { $0.isWritten ? $0.draft : $0.base }
  }

  /// Whether the change has other values than the unsaved record.
  var isResolved: Bool { resolved != nil }

  /// Whether the save writes ``row``.
  var isWritten: Bool { resolved?.isWritten ?? unmanaged._withUnsafeGuaranteedRef { $0.isWritten } }

  /// The change with another position in an ordered list.
  ///
  /// - Parameter position: The position; `nil` for none.
  func moved(to position: Int64?, slot: Int) -> RecordChange {
    let value = position.map(AttributeValue.int) ?? .null
    var changed = changed
    if base?[slot] == value { changed.remove(slot) } else { changed.insert(slot) }
    guard var values = (row ?? base)?.values else { return self }
    values[slot] = value
    return writing(values, changed: changed)
  }

  /// The change with other values, for the same record.
  func rewritten(row: Row?, changed: SlotSet, join: RecordJoin? = nil) -> RecordChange {
    RecordChange(
      record, kind: kind, base: base, row: row, changed: changed, baseVersion: baseVersion, overtaken: overtaken,
      join: join ?? self.join)
  }

  /// The change with references and weak references to other records.
  func redirected(_ redirection: Redirection) -> RecordChange {
    guard kind != .deleted, isWritten, let row else { return self }
    var values: [AttributeValue]?
    var changed = changed
    for slots in [entity.referenceSlots, entity.checked.weakReferences] {
      for slot in slots {
        guard let value = redirection.value(instead: row[slot]) else { continue }
        values = values ?? row.values
        values?[slot] = value
        if kind == .updated, base?[slot] == value { changed.remove(slot) } else { changed.insert(slot) }
      }
    }
    guard let values else { return self }
    let written = Row.make(id: id, entity: entity, version: row.version, values: values)
    return rewritten(row: kind == .updated && changed.isEmpty && !changesLists ? nil : written, changed: changed)
  }

  /// Releases the record's object. Called after the save, when the object is clean.
  func releaseObject() { unmanaged._withUnsafeGuaranteedRef { $0.object = nil } }

  /// The version of the row that a save of the change writes.
  private var writtenVersion: Int64 { (isWritten ? row?.version : nil) ?? Self.version(after: base) }

  /// The version of the row to write. A save refuses a base without a next version, see ``checkVersion(of:)``.
  static func version(after base: Row?) -> Int64 { (base?.version ?? 0) &+ 1 }

  /// Throws for a base with the greatest version, which only another program can have written: caches and contexts
  /// would take every later row of the record for an older one.
  static func checkVersion(of base: Row?) throws(CoherenceError) {
    guard let base, base.version == .max else { return }
    var error = CoherenceError(
      .storeCorrupt,
      "A record of '\(base.entity.name)' has the greatest possible version, so that it cannot be changed; another "
        + "program has written the version and must lower it.")
    error.objectIDs = [base.id]
    throw error
  }

  /// The version of a deleted record that a save restores.
  ///
  /// Other writers may have saved versions after the base before the delete, and contexts may still have rows of them. An
  /// equal version of other values would be taken for such a row.
  static func version(restoring base: Row) -> Int64 {
    let greatest = max(base.version, base.id.space.rows.row(base.key)?.version ?? 0)
    let (version, overflows) = greatest.addingReportingOverflow(restoringDistance)
    return overflows ? .max : version
  }

  /// More versions than other writers save between the base of an edit and the delete of its record. Much less than the
  /// number of versions of an owner for which ``ListPositions`` has positions.
  private static let restoringDistance: Int64 = 1 << 16

  /// The change with other values of the row to write.
  func writing(_ values: [AttributeValue], changed: SlotSet) -> RecordChange {
    let written = Row.make(id: id, entity: entity, version: writtenVersion, values: values)
    return rewritten(row: kind == .inserted || !changed.isEmpty || changesLists ? written : nil, changed: changed)
  }
}
