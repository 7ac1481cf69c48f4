/// The generations of a context's member lists: a list that was loaded in an earlier generation of its relationship is
/// read again.
///
/// Invariant: no generation of a relationship returns, so that a list of an earlier generation never becomes current.
///
/// Used by the context's owner alone. ``ContextStorage/invalidateLists(of:)`` invalidates the lists of the retained reads
/// too.
struct ListGenerations {
  /// The generation of each to-many relationship, raised when its loaded member lists may be out of date.
  private var counts: [RelationshipDescription: Int] = [:]
  /// The part of the generation that all relationships share, in the upper bits.
  private var epoch = 0

  /// The generation of a relationship's member lists: the relationship's own count, plus the common part.
  func generation(of relationship: RelationshipDescription) -> Int { (counts[relationship] ?? 0) &+ epoch }

  /// Invalidates every loaded member list.
  mutating func invalidateAll() { epoch &+= 1 << 32 }

  /// Invalidates the loaded member lists of a relationship.
  mutating func invalidate(_ relationship: RelationshipDescription) { counts[relationship, default: 0] += 1 }
}
