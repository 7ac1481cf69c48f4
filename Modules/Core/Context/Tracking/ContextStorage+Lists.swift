// The lists of members: their generations, and the records that lists of stores have although they are no members for
// the context.

extension ContextStorage {
  /// The generation of a relationship's member lists.
  func generation(of relationship: RelationshipDescription) -> Int { listGenerations.generation(of: relationship) }

  /// Invalidates every loaded member list.
  func invalidateAllLists() {
    listGenerations.invalidateAll()
    retainedReads.invalidateLists()
  }

  func invalidateLists(of relationship: RelationshipDescription) {
    listGenerations.invalidate(relationship)
    retainedReads.invalidateLists(of: relationship)
  }

  /// Returns the identifiers without those of records marked for deletion. Called under the lock.
  func withoutDeleted(_ ids: [ManagedObjectID]) -> [ManagedObjectID] {
    unsaved.hasDeletes ? ids.filter { recordUnderLock(for: $0)?.kind != .deleted } : ids
  }

  /// Returns the members of an owner without the records that are no members for the context: deleted records, and
  /// records moved by another writer. Called under the lock.
  func withoutNonmembers(
    _ ids: [ManagedObjectID], of relationship: RelationshipDescription, owner: ManagedObjectID
  ) -> [ManagedObjectID] {
    let remaining = withoutDeleted(ids)
    guard mayListNonmembers(relationship) else { return remaining }
    return remaining.filter { !isLeftOut(recordUnderLock(for: $0), of: relationship, owner: owner) }
  }

  /// Notes that a save of another writer has given a record other owners. The edits and delete rules of the context have
  /// changed the lists of the former owners only. So the reads of lists leave the record out of the new owners' lists.
  ///
  /// Called under the lock, before the record gets the row as its base.
  ///
  /// - Parameters:
  ///   - row: The saved row.
  ///   - relinked: The relationships of the record with members that the save changed.
  func noteMove(of record: PendingRecord, to row: Row, relinked: Set<RelationshipDescription>) {
    guard let base = record.base else { return }
    let moved = row.entity.referenceSlots.filter { row[$0] != base[$0] }
    let mayBeListed =
      record.kind == .deleted ? !moved.isEmpty || !relinked.isEmpty : moved.contains(where: record.changed.contains)
    if mayBeListed { unsaved.movedRecords.insert(record.id) }
  }

  /// Notes that a save of another writer has changed links to records that may include deleted ones.
  ///
  /// Called under the lock, because children read the noted records.
  func noteLinks(of relationships: Set<RelationshipDescription>) {
    guard unsaved.hasDeletes else { return }
    let roots = Set(relationships.map(\.destination.root))
    unsaved.movedRecords.formUnion(
      records.lazy.filter { $0.kind == .deleted && roots.contains($0.entity.root) }.map(\.id))
  }

  /// Notes that a deleted record may have links that its delete rules did not find. Called under the lock.
  func noteLinks(ofDeleted record: PendingRecord) {
    let hasLinks = record.entity.relationships.contains { relationship in
      if case .links = relationship.storage { relationship.inverse != nil } else { false }
    }
    if hasLinks { unsaved.movedRecords.insert(record.id) }
  }

  /// Whether the lists of a relationship below the context's changes may have records that are no members for the
  /// context: deleted records, which no delete rule removes from a relationship without an inverse, and records moved
  /// by another writer.
  func mayListNonmembers(_ relationship: RelationshipDescription) -> Bool {
    !unsaved.movedRecords.isEmpty || (unsaved.hasDeletes && relationship.inverse == nil)
  }

  /// Whether a record is no member of an owner for the context, although the list below its changes has the record.
  func isLeftOut(
    _ record: PendingRecord?, of relationship: RelationshipDescription, owner: ManagedObjectID
  ) -> Bool {
    guard let record else { return false }
    if record.kind == .deleted { return true }
    guard let slot = relationship.inverse?.slot, record.changed.contains(slot), unsaved.movedRecords.contains(record.id)
    else {
      return false
    }
    return record[slot] != .reference(owner)
  }

  /// The records that the context has moved to another owner, among records that a farther context has made members of
  /// an owner. Called under the lock.
  func moved(
    _ ids: [ManagedObjectID], from owner: ManagedObjectID, of relationship: RelationshipDescription
  ) -> Set<ManagedObjectID> {
    guard unsaved.count > 0, let slot = relationship.inverse?.slot else { return [] }
    return Set(
      ids.lazy.filter { id in
        guard let record = self.recordUnderLock(for: id), record.changed.contains(slot) else { return false }
        return record[slot] != .reference(owner)
      })
  }

  /// Notes that a child has moved or deleted a record that another writer has moved between the states that the child and
  /// this context have read. The child has changed the list of the owner that it has read. Called under the lock, after
  /// the record has the child's change.
  ///
  /// - Parameter base: The row on which the child's change is based; `nil` for none.
  func noteMove(of record: PendingRecord, byChildOn base: Row?) {
    guard let base, let present = record.base, base.version != present.version else { return }
    let mayBeListed = record.entity.referenceSlots.contains { slot in
      base[slot] != present[slot] && (record.kind == .deleted || record.changed.contains(slot))
    }
    if mayBeListed { unsaved.movedRecords.insert(record.id) }
  }

  /// Notes that other writers may have added deleted records to lists by links. Their rows, which a refresh compares,
  /// tell about other lists; see ``noteMove(of:to:relinked:)``. Called under the lock.
  ///
  /// A noted record costs: the members of an owner without neighbours are counted by a statement that excludes the
  /// record. Beside many noted records, members are listed.
  func noteLinksOfDeleted() {
    guard unsaved.hasDeletes else { return }
    for record in records where record.kind == .deleted { noteLinks(ofDeleted: record) }
  }

  /// Notes that other writers may have added any deleted record to lists, because a refresh has failed to read the
  /// present rows. Called under the lock.
  func noteDeletedInLists() {
    guard unsaved.hasDeletes else { return }
    unsaved.movedRecords.formUnion(records.lazy.filter { $0.kind == .deleted }.map(\.id))
  }
}
