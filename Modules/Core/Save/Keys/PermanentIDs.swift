/// The permanent identifiers that a save gives to fresh records, by their temporary ones.
struct PermanentIDs {
  private var byTemporaryID: [ManagedObjectID: ManagedObjectID] = [:]

  /// No identifiers: every identifier stands for itself.
  init() {}

  /// The identifiers reserved for records. Empty when no record refers to another one, so that a save of plain records
  /// makes no table.
  init(reservedFor records: [PendingRecord]) {
    var hasRelationships = false
    records.visit { record in
      record._withUnsafeGuaranteedRef { if $0.hasMembers || $0.entity.hasReferences { hasRelationships = true } }
    }
    guard hasRelationships else { return }
    for record in records where record.id.isTemporaryID { byTemporaryID[record.id] = record.reservedID }
  }

  /// The identifier that a record has after the save.
  subscript(id: ManagedObjectID) -> ManagedObjectID { byTemporaryID[id] ?? id }
}
