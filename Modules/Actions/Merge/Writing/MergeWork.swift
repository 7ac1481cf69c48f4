import CoherenceCore

/// What a merge is to do.
struct MergeWork {
  /// A record to change.
  struct Update {
    let place: Int
    let row: Row
    /// The to-many relationships that differ.
    let lists: [MergeLists.Wish]
  }

  /// The places of the input records to insert.
  let inserts: [Int]
  let updates: [Update]
  let deletes: [Row]
  let targets: MergeTargets

  var isEmpty: Bool { inserts.isEmpty && updates.isEmpty && deletes.isEmpty }
}
