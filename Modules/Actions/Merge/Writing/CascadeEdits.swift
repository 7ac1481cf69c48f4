import CoherenceCore
import CoherenceReconciliation

/// The edits that keep their records although the delete rule of a record deleted by a merge reaches them: such a record
/// is treated as a record that the input itself would delete. Used by one plan of a merge, on its thread.
final class CascadeEdits: CascadeProtection {
  private let local: LocalEdits?
  private let pending: PendingReconciliation?
  private let hasUnsavedEdits: Bool
  /// The pending edits of the reached records.
  private var edits: [ManagedObjectID: PendingEdit] = [:]

  /// - Returns: `nil` for a merge without edits that may win over its input.
  init?(_ local: LocalEdits?, _ pending: PendingReconciliation?) {
    hasUnsavedEdits = local?.hasUnsavedEdits == true
    if !hasUnsavedEdits, pending == nil { return nil }
    self.local = local
    self.pending = pending
  }

  func covers(_ entity: EntityDescription) -> Bool {
    hasUnsavedEdits || pending?.source.covers(entity) == true
  }

  func protectedIDs(among rows: [Row]) throws -> Set<ManagedObjectID> {
    var protected = local?.editedIDs(among: rows.map(\.id)) ?? []
    guard let pending else { return protected }
    for (entity, group) in Dictionary(grouping: rows, by: \.entity) {
      for (id, edit) in try pending.edits(of: group.map(\.id), entity) {
        edits[id] = edit
        if pending.opposesCascade(edit) { protected.insert(id) }
      }
    }
    return protected
  }

  func note(kept: Set<ManagedObjectID>, deleted: Set<ManagedObjectID>, owners: Set<ManagedObjectID>) {
    guard let pending else { return }
    pending.keepEdits(of: owners)
    for (id, edit) in edits.sorted(by: { $0.key.key < $1.key.key }) {
      if kept.contains(id), pending.opposesCascade(edit) {
        pending.decide(overCascadeTo: edit, isKept: true)
      } else if deleted.contains(id) {
        pending.decide(overCascadeTo: edit, isKept: false)
      }
    }
    if edits.keys.contains(where: kept.contains) { pending.postponedDeletions += owners.count }
  }
}
