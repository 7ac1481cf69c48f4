/// The permanent identifiers that a save gives to inserted records, by their temporary identifiers.
struct PermanentIDs {
  private var byTemporaryID: [ManagedObjectID: ManagedObjectID] = [:]

  /// Makes an empty table, in which every identifier stands for itself.
  init() {}

  /// Makes a table of the identifiers reserved for records. The table is empty when no record has relationships, so
  /// that a save of plain records costs nothing.
  init(reservedFor records: [PendingRecord]) {
    var hasRelationships = false
    records.visit { record in
      record._withUnsafeGuaranteedRef { if $0.hasMembers || $0.entity.hasReferences { hasRelationships = true } }
    }
    guard hasRelationships else { return }
    records.visit { record in
      record._withUnsafeGuaranteedRef { if $0.id.isTemporaryID { byTemporaryID[$0.id] = $0.reservedID } }
    }
  }

  /// The identifiers of the stored records that inserted records became, by the inserted records' former identifiers.
  private var joined: [ManagedObjectID: ManagedObjectID] = [:]
  /// The former identifiers of ``joined``, by the stored records. Some stand for another record by now.
  private var sources: [ManagedObjectID: [ManagedObjectID]] = [:]

  /// Makes the former identifiers of an inserted record stand for the record that it became.
  mutating func join(_ former: [ManagedObjectID], to id: ManagedObjectID) {
    var moved = former.filter { $0 != id }
    // Records that became this record before become the other record too.
    for target in former where target != id {
      moved += (sources.removeValue(forKey: target) ?? []).filter { joined[$0] == target }
    }
    for formerID in moved { joined[formerID] = id }
    sources[id, default: []] += moved
  }

  /// Reverts a join.
  mutating func separate(_ former: [ManagedObjectID]) { for formerID in former { joined[formerID] = nil } }

  /// The identifiers that records have after the save. Takes no time for a table in which every identifier stands for
  /// itself.
  func all(_ ids: [ManagedObjectID]) -> [ManagedObjectID] {
    byTemporaryID.isEmpty && joined.isEmpty ? ids : ids.map { self[$0] }
  }

  /// The identifier that a record has after the save.
  subscript(id: ManagedObjectID) -> ManagedObjectID {
    if !joined.isEmpty, let target = joined[id] { return target }
    return byTemporaryID[id] ?? id
  }
}
