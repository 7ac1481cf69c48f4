import CoherenceCore

/// The result of the pages of a paged merge.
struct MergedPage: Sendable {
  var result: MergeResult
  /// Empty for a paged merge that deletes nothing.
  var keys: PagedKeys
}

/// The records that the pages of a paged merge contain or link to. The deletion after the last page keeps the contained
/// records, throws if it would delete a linked record itself, and keeps the linked records that a delete rule reaches.
struct PagedKeys: Sendable {
  /// The complete keys of all records of the pages.
  var all: Set<MergeKey> = []
  /// The keys of the records that the pages inserted. These records were not stored before the merge.
  var inserted: Set<MergeKey> = []
  /// The stored records that the deletion may delete and to which links of the pages lead. A record that came on several
  /// pages, because the service moved it between the requests, has the links of the last one.
  private(set) var linkedIDs: [LinkSource: Set<ManagedObjectID>] = [:]

  /// One relationship of one record of the pages.
  struct LinkSource: Hashable {
    let owner: MergeKey
    let relationship: String
  }

  /// Sets the destinations of a link of a page; an empty set for a cleared link.
  mutating func setLink(_ source: LinkSource, to ids: Set<ManagedObjectID>) { linkedIDs[source] = ids }

  mutating func formUnion(_ other: PagedKeys) {
    all.formUnion(other.all)
    inserted.formUnion(other.inserted)
    for (source, ids) in other.linkedIDs { linkedIDs[source] = ids.isEmpty ? nil : ids }
  }
}
