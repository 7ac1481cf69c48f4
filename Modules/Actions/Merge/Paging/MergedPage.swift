import CoherenceCore

/// The result of one page of a paged merge.
struct MergedPage: Sendable {
  let result: MergeResult
  /// Empty for a paged merge that deletes nothing.
  let keys: PagedKeys
}

/// The records that the pages of a paged merge contain or link to. The deletion after the last page keeps the contained
/// records, and throws if it would delete a linked record.
struct PagedKeys: Sendable {
  /// The complete keys of all records of the pages.
  var all: Set<MergeKey> = []
  /// The keys of the records that the pages inserted. These records were not stored before the merge.
  var inserted: Set<MergeKey> = []
  /// The records of the merge's own hierarchy that links of the pages lead to.
  var linkedIDs: Set<ManagedObjectID> = []

  mutating func formUnion(_ other: PagedKeys) {
    all.formUnion(other.all)
    inserted.formUnion(other.inserted)
    linkedIDs.formUnion(other.linkedIDs)
  }
}
