// The generations of member lists: a list that was loaded in an earlier generation is read again.

extension ContextStorage {
  /// The generation of a relationship's member lists: the relationship's own count, plus the common part in the upper
  /// bits.
  func generation(of relationship: RelationshipDescription) -> Int { (generations[relationship] ?? 0) &+ epoch }

  /// Invalidates every loaded member list.
  func invalidateAllLists() {
    epoch &+= 1 << 32
    kept.invalidateLists()
  }

  func invalidateLists(of relationship: RelationshipDescription) {
    generations[relationship, default: 0] += 1
    kept.invalidateLists(of: relationship)
  }

  /// Returns the identifiers without those of records marked for deletion. Called under the lock.
  func withoutDeleted(_ ids: [ManagedObjectID]) -> [ManagedObjectID] {
    hasDeletes ? ids.filter { recordUnderLock(for: $0)?.kind != .deleted } : ids
  }

  /// Notes that a save of another writer has given a record other owners. The edits and delete rules of the context have
  /// changed the lists of the former owners only. So the reads of lists leave the record out of the new owners' lists.
  ///
  /// - Parameters:
  ///   - row: The saved row.
  ///   - relinked: The relationships of the record with members that the save changed.
  func noteMove(of record: PendingRecord, to row: Row, relinked: Set<RelationshipDescription>) {
    guard let base = record.base else { return }
    let moved = row.entity.referenceSlots.filter { row[$0] != base[$0] }
    let mayBeListed =
      record.kind == .deleted ? !moved.isEmpty || !relinked.isEmpty : moved.contains(where: record.changed.contains)
    if mayBeListed { movedRecords.insert(record.id) }
  }

  /// Notes that a save of another writer has changed links to records that may include deleted ones.
  func noteLinks(of relationships: Set<RelationshipDescription>) {
    guard hasDeletes else { return }
    let roots = Set(relationships.map(\.destination.root))
    movedRecords.formUnion(records.lazy.filter { $0.kind == .deleted && roots.contains($0.entity.root) }.map(\.id))
  }

  /// Notes the delete of a record by a child. The record may have links that the child does not know.
  func noteLinks(ofDeleted record: PendingRecord) {
    let hasLinks = record.entity.relationships.contains { relationship in
      if case .links = relationship.storage { relationship.inverse != nil } else { false }
    }
    if hasLinks { movedRecords.insert(record.id) }
  }

  /// Whether the lists of a relationship below the context's changes may have records that are no members for the
  /// context: deleted records, which no delete rule removes from a relationship without an inverse, and records moved
  /// by another writer.
  func mayListNonmembers(_ relationship: RelationshipDescription) -> Bool {
    !movedRecords.isEmpty || (hasDeletes && relationship.inverse == nil)
  }

  /// Whether a record is no member of an owner for the context, although the list below its changes has the record.
  func isLeftOut(
    _ record: PendingRecord?, of relationship: RelationshipDescription, owner: ManagedObjectID
  ) -> Bool {
    guard let record else { return false }
    if record.kind == .deleted { return true }
    guard let slot = relationship.inverse?.slot, record.changed.contains(slot), movedRecords.contains(record.id) else {
      return false
    }
    return record[slot] != .reference(owner)
  }
}
