// Deny rules for records deleted without objects: bare deletes, by a cascade or by the save of a child context.

extension ManagedObjectContext {
  /// The denied deletes of records without objects, found with one read for each relationship.
  final func denialsOfBareDeletes() throws -> [ValidationFailure] {
    guard storage.unsaved.hasBareDeletes else { return [] }
    var denials: [ValidationFailure] = []
    for (entity, records) in Dictionary(grouping: storage.records.filter(\.isBareDelete), by: \.entity) {
      for relationship in entity.relationships where relationship.deleteRule == .deny {
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
    guard !targets.isEmpty, let inverse = relationship.inverse?.slot else { return Set(targets.lazy.map(\.owner)) }
    let rows = try rows(of: Array(Set(targets.lazy.map(\.target))))
    return Set(targets.lazy.filter { rows[$0.target]?[inverse] == .reference($0.owner) }.map(\.owner))
  }
}
