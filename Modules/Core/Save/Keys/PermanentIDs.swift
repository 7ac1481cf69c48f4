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

  /// The identifiers that inserted records have after they joined other records, by the identifiers before.
  private var joined: [ManagedObjectID: ManagedObjectID] = [:]

  /// Has identifiers stand for a record that their record joined.
  mutating func join(_ former: [ManagedObjectID], to id: ManagedObjectID) {
    // The records that joined this record join the other one with it.
    for (known, target) in joined where former.contains(target) { joined[known] = id }
    for known in former where known != id { joined[known] = id }
  }

  /// Takes a join back.
  mutating func separate(_ former: [ManagedObjectID]) { for known in former { joined[known] = nil } }

  /// The identifier that a record has after the save.
  subscript(id: ManagedObjectID) -> ManagedObjectID {
    if !joined.isEmpty, let target = joined[id] { return target }
    return byTemporaryID[id] ?? id
  }
}
