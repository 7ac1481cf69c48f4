import CoherenceCore

/// What a merge is to do.
struct MergeWork {
  /// A record to change.
  struct Update {
    let place: Int
    let row: Row
    /// The to-many relationships that differ.
    var lists: [MergeLists.Wish]
    /// The slots that stay as they are, because of edits that win.
    var keptSlots = SlotSet()
  }

  /// The places of the input records to insert.
  let inserts: [Int]
  let updates: [Update]
  let deletes: [Row]
  let targets: MergeTargets

  /// The number of records to insert, to change or to delete.
  var count: Int { inserts.count + updates.count + deletes.count }

  var isEmpty: Bool { inserts.isEmpty && updates.isEmpty && deletes.isEmpty }
}
