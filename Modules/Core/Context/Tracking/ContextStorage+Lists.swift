// The generations of member lists: a list that was loaded in an earlier generation is read again.

extension ContextStorage {
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

  /// Records that a save of another writer has given a deleted record other owners or members. The delete rules have
  /// removed the record from the former lists only.
  ///
  /// - Parameters:
  ///   - row: The saved row.
  ///   - relinked: The relationships of the record with members that the save changed.
  func noteMove(of record: PendingRecord, to row: Row, relinked: Set<RelationshipDescription>) {
    guard record.kind == .deleted, let base = record.base else { return }
    let isMoved = row.entity.referenceSlots.contains { row[$0] != base[$0] }
    if isMoved || !relinked.isEmpty { movedDeletes.insert(record.id) }
  }

  /// Records that a save of another writer has changed links to records that may include deleted ones.
  func noteLinks(of relationships: Set<RelationshipDescription>) {
    guard hasDeletes else { return }
    let roots = Set(relationships.map(\.destination.root))
    movedDeletes.formUnion(records.lazy.filter { $0.kind == .deleted && roots.contains($0.entity.root) }.map(\.id))
  }

  /// Whether the list of a relationship may have records marked for deletion: without an inverse, no delete rule removes
  /// them.
  func mayListDeletes(_ relationship: RelationshipDescription) -> Bool {
    hasDeletes && (relationship.inverse == nil || !movedDeletes.isEmpty)
  }
}
