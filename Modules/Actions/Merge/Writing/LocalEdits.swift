import CoherenceCore

/// The edits that win over the input of a merge with ``MergeOptions/ConflictResolution/localWins``: the unsaved edits of the
/// view, and edits saved after the first plan of the merge.
final class LocalEdits {
  /// The records as the first plan found them. A stored record outside of the first plan was equal to the input or
  /// protected then. If a later plan has the record, another writer has changed it since.
  private struct FirstPlan {
    let inserts: Set<Int>
    let updates: [Int: Row]
    let deletes: [ManagedObjectID: Int64]

    init(_ plan: MergePlan) {
      inserts = Set(plan.inserts)
      updates = Dictionary(plan.updates.map { ($0.index, $0.row) }, uniquingKeysWith: { first, _ in first })
      deletes = Dictionary(plan.deletes.map { ($0.id, $0.version) }, uniquingKeysWith: { first, _ in first })
    }
  }

  private let view: ManagedObjectContext?
  private var firstPlan: FirstPlan?

  init(view: ManagedObjectContext?) { self.view = view }

  /// Whether the view has unsaved edits, so that ``editedIDs(among:)`` may find records.
  var hasUnsavedEdits: Bool { view?.hasUnsavedRecords == true }

  /// The records with unsaved edits, without the records that the view deletes: a delete rule may delete these too.
  func editedIDs(among ids: [ManagedObjectID]) -> Set<ManagedObjectID> {
    Set((view?.unsavedEdits(of: ids) ?? [:]).filter { !$0.value.isDelete }.keys)
  }

  /// Returns the part of a plan that no edit opposes. The first call keeps its plan as the first plan of the merge, with
  /// which each later call, after a lost race, compares its own plan.
  func remainder(of plan: MergePlan) -> MergePlan {
    let unsaved = view?.unsavedEdits(of: plan.updates.map(\.row.id) + plan.deletes.map(\.id)) ?? [:]
    let former = firstPlan
    firstPlan = former ?? FirstPlan(plan)
    return MergePlan(
      inserts: plan.inserts.filter { former?.inserts.contains($0) ?? true },
      updates: plan.updates.compactMap { update in
        Self.remainder(of: update, former, unsaved[update.row.id])
      },
      deletes: plan.deletes.filter { row in
        unsaved[row.id]?.isDelete ?? true && former.map { $0.deletes[row.id] == row.version } ?? true
      },
      targets: plan.targets, keptTargets: plan.keptTargets)
  }

  /// Returns the part of an update that no edit opposes; `nil` for a record that the view deletes, or that another
  /// writer has edited, and for a record that another writer has inserted.
  private static func remainder(
    of update: MergePlan.Update, _ former: FirstPlan?, _ unsaved: UnsavedEdits?
  ) -> MergePlan.Update? {
    if unsaved?.isDelete == true { return nil }
    var update = update
    if let former {
      guard let row = former.updates[update.index], row.id == update.row.id else { return nil }
      let changed = (0..<min(row.count, update.row.count)).filter { row[$0] != update.row[$0] }
      update.keptSlots = update.keptSlots.union(SlotSet(changed))
      // Another writer may have changed the members too, which a row does not show.
      if row.version != update.row.version { update.lists = [] }
    }
    if let unsaved {
      update.keptSlots = update.keptSlots.union(unsaved.slots)
      update.lists.removeAll { unsaved.relationships.contains($0.relationship) }
    }
    return update
  }
}
