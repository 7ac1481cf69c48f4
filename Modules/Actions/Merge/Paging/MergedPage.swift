import CoherenceCore

/// The result of one page of a paged merge.
struct MergedPage: Sendable {
  let result: MergeResult
  let names: PagedNames
}

/// What the pages of a paged merge named so far: the records that the deletion at its end has to spare.
struct PagedNames: Sendable {
  /// The keys of all records of the pages.
  var keys: Set<MergeKey> = []
  /// The keys of the records that the pages inserted: they were not stored before the merge.
  var insertedKeys: Set<MergeKey> = []
  /// The records of the merge's own hierarchy that links of the pages lead to.
  var linkedIDs: Set<ManagedObjectID> = []

  mutating func formUnion(_ other: PagedNames) {
    keys.formUnion(other.keys)
    insertedKeys.formUnion(other.insertedKeys)
    linkedIDs.formUnion(other.linkedIDs)
  }
}
