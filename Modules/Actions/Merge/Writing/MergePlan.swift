import CoherenceCore

/// The changes that a merge will make.
struct MergePlan {
  /// A record to change.
  struct Update {
    /// The index of the input record.
    let index: Int
    let row: Row
    /// The to-many relationships whose members differ.
    var lists: [MemberComparison.ExpectedMembers]
    /// The slots that the update leaves alone, because a local or pending edit wins.
    var keptSlots = SlotSet()
  }

  /// The indexes of the input records to insert.
  let inserts: [Int]
  let updates: [Update]
  let deletes: [Row]
  let targets: MergeTargets
  /// The destinations that the links of inserted records leave out, because pending edits have given them another owner
  /// or partner.
  var keptTargets: [RelationshipDescription: Set<ManagedObjectID>] = [:]

  /// The number of records to insert, to change or to delete.
  var count: Int { inserts.count + updates.count + deletes.count }

  /// The records to change or to delete.
  var recordIDs: Set<ManagedObjectID> { Set(updates.map(\.row.id) + deletes.map(\.id)) }

  var isEmpty: Bool { inserts.isEmpty && updates.isEmpty && deletes.isEmpty }
}

extension MergePlan {
  /// Makes the plan of the changes that the condition and the pending edits allow.
  init(_ changes: PendingReconciliation.Changes, targets: MergeTargets) {
    self.init(
      inserts: changes.inserts, updates: changes.updates, deletes: changes.deletes, targets: targets,
      keptTargets: changes.keptTargets)
  }
}
