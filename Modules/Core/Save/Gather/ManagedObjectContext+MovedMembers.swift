extension ManagedObjectContext {
  /// The records that the store still has as members of deleted records, because a parent has moved or deleted them
  /// without a save. Their references are cleared.
  ///
  /// The context does not see these records as members, so that its delete rules leave them alone. The store would
  /// refuse the delete.
  ///
  /// - Parameter records: The records to save. Members among them are left out.
  /// - Throws: ``ErrorCode/danglingReference`` for a member that needs its reference.
  final func membersMovedByParents(in records: [PendingRecord]) throws -> [PendingRecord] {
    let deleted = records.filter { $0.kind == .deleted && $0.entity.hasReferringRecords }
    guard !deleted.isEmpty else { return [] }
    let idsToSave = Set(records.lazy.map(\.id))
    var moved: [ManagedObjectID: PendingRecord] = [:]
    for owner in deleted {
      for (id, inverse) in membersMovedByParents(from: owner.id) where !idsToSave.contains(id) {
        guard let slot = inverse.slot, let base = moved[id]?.base ?? parentEdits(of: id).last?.base,
          base[slot] == .reference(owner.id)
        else { continue }
        guard inverse.isOptional else { throw CoherenceError.lateReference(inverse, of: id, to: owner.id) }
        let member = moved[id] ?? PendingRecord(changing: base)
        for cleared in inverse.slotsWithPosition { member.set(.null, at: cleared) }
        moved[id] = member
      }
    }
    return moved.values.sorted { ManagedObjectID.precedes($0.id, $1.id) }
  }

  /// The targets and members that parents have removed from a record, with the relationships that lead from them to the
  /// record. To-many relationships kept as links are left out: a save removes the links of deleted records.
  private final func membersMovedByParents(
    from owner: ManagedObjectID
  ) -> [(ManagedObjectID, inverse: RelationshipDescription)] {
    var result: [(ManagedObjectID, inverse: RelationshipDescription)] = []
    for context in ancestors {
      let storage = context.storage
      storage.withPending {
        guard let record = storage.recordUnderLock(for: owner) else { return }
        for relationship in record.entity.relationships {
          guard let inverse = relationship.inverse, inverse.isConstrained else { continue }
          result += record.removed(from: relationship).filter { !$0.isTemporaryID }.map { ($0, inverse) }
        }
      }
    }
    return result
  }
}

extension PendingRecord {
  /// The former target or the removed members of a relationship.
  fileprivate func removed(from relationship: RelationshipDescription) -> [ManagedObjectID] {
    guard let slot = relationship.slot else { return members[relationship].map { Array($0.removed) } ?? [] }
    guard changed.contains(slot), case .reference(let target)? = base?[slot] else { return [] }
    return [target]
  }
}

extension EntityDescription {
  /// Whether a store refuses the delete of a record to which another record refers.
  fileprivate var hasReferringRecords: Bool { relationships.contains { $0.inverse?.isConstrained == true } }
}
