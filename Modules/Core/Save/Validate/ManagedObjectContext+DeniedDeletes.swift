// Deny rules for records deleted without objects: bare deletes, by a cascade or by the save of a child context.

extension ManagedObjectContext {
  /// The denied deletes of records without objects, found with one read for each relationship.
  final func denialsOfBareDeletes() throws -> [ValidationFailure] {
    guard storage.unsaved.hasBareDeletes else { return [] }
    var denials: [ValidationFailure] = []
    let deniable = storage.records.filter { !$0.entity.checked.denying.isEmpty && $0.isBareDelete }
    for (entity, records) in deniable.grouped(by: \.entity) {
      for relationship in entity.checked.denying {
        let remaining = try remainingTargets(of: relationship, from: records)
        for record in records where remaining.contains(record.id) {
          denials.append(ValidationFailure(denying: record.id, entity, by: relationship))
        }
      }
    }
    return denials
  }

  /// The records that still have members or a target in a relationship: targets that stay, and that still refer to the
  /// record.
  private final func remainingTargets(
    of relationship: RelationshipDescription, from records: [PendingRecord]
  ) throws -> Set<ManagedObjectID> {
    var targets: [(owner: ManagedObjectID, target: ManagedObjectID)] = []
    if let slot = relationship.slot {
      for record in records { if case .reference(let id) = record[slot] { targets.append((record.id, id)) } }
    } else {
      // A record deleted without an object has no unsaved members.
      for (owner, ids) in try storedMembers(of: relationship, owners: records.map(\.id), isKeeping: false) {
        for id in ids { targets.append((owner, id)) }
      }
    }
    targets.removeAll { storage.record(for: $0.target)?.kind == .deleted }
    let inverse = relationship.inverse?.slot
    // A reference that no store checks may lead to a missing record.
    guard !targets.isEmpty, inverse != nil || relationship.mayDangle else { return Set(targets.lazy.map(\.owner)) }
    let rows = try rows(of: Array(Set(targets.lazy.map(\.target))))
    let remaining = targets.filter { owner, target in
      guard let row = rows[target] else { return false }
      return inverse.map { row[$0] == .reference(owner) } ?? true
    }
    return Set(remaining.lazy.map(\.owner))
  }
}
