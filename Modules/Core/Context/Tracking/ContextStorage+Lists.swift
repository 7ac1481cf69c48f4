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
}
