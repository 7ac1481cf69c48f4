import CoherenceCore

/// The edits that win over the input of a merge with ``MergeOptions/ConflictResolution/localWins``: those that the view has
/// not saved, and those that were saved since the merge was planned first.
final class LocalEdits {
  /// The records as the first plan found them. A record that the first plan does not name was as the input says.
  private struct FirstPlan {
    let inserts: Set<Int>
    let updates: [Int: Row]
    let deletes: [ManagedObjectID: Int64]

    init(_ work: MergeWork) {
      inserts = Set(work.inserts)
      updates = Dictionary(work.updates.map { ($0.place, $0.row) }, uniquingKeysWith: { first, _ in first })
      deletes = Dictionary(work.deletes.map { ($0.id, $0.version) }, uniquingKeysWith: { first, _ in first })
    }
  }

  private let view: ManagedObjectContext?
  private var firstPlan: FirstPlan?

  init(view: ManagedObjectContext?) { self.view = view }

  /// The part of a plan that no edit speaks against. The first plan that comes here is what later ones are compared with.
  func allowed(of work: MergeWork) -> MergeWork {
    let unsaved = view?.unsavedEdits(of: work.updates.map(\.row.id) + work.deletes.map(\.id)) ?? [:]
    let former = firstPlan
    firstPlan = former ?? FirstPlan(work)
    return MergeWork(
      inserts: work.inserts.filter { former?.inserts.contains($0) ?? true },
      updates: work.updates.compactMap { update in
        Self.allowed(update, former, unsaved[update.row.id])
      },
      deletes: work.deletes.filter { row in
        unsaved[row.id]?.isDelete ?? true && former.map { $0.deletes[row.id] == row.version } ?? true
      },
      targets: work.targets)
  }

  private static func allowed(
    _ update: MergeWork.Update, _ former: FirstPlan?, _ unsaved: UnsavedEdits?
  ) -> MergeWork.Update? {
    if unsaved?.isDelete == true { return nil }
    var update = update
    if let former {
      guard let row = former.updates[update.place], row.id == update.row.id else { return nil }
      update.keptSlots = SlotSet((0..<min(row.count, update.row.count)).filter { row[$0] != update.row[$0] })
      if row.version != update.row.version { update.lists = [] }
    }
    if let unsaved {
      update.keptSlots = update.keptSlots.union(unsaved.slots)
      update.lists.removeAll { unsaved.relationships.contains($0.relationship) }
    }
    return update
  }
}
