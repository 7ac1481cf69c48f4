import CoherenceCore
import CoherenceReconciliation

// A server sends each change on one page of changes. The client asks again for a page with a value that a pending edit
// keeps out of the store, or that a late reply replaces by an older value: the value would be lost otherwise.

extension PendingReconciliation {
  /// Postpones the input records whose values pending edits keep out of the store, or whose values the reply to such an
  /// edit may replace. The edits are those of the records themselves, of their members and of their partners.
  ///
  /// - Parameters:
  ///   - planned: The changes as the input alone would make them.
  ///   - edits: The pending edits of the changes' records.
  ///   - partnerSlots: The slots that edits of partners keep, by input record.
  func postpone(
    _ planned: Changes, _ edits: [ManagedObjectID: PendingEdit], _ lists: ReconciledLists,
    _ partnerSlots: [Int: SlotSet], _ incoming: Incoming
  ) throws {
    postponed.formUnion(partnerSlots.keys)
    for update in planned.updates {
      guard let edit = edits[update.row.id], edit.kind != .delete else {
        if lists.recordsWithEditedLists.contains(update.index) { postponed.insert(update.index) }
        continue
      }
      // An edit of another property of the record does not send the members that edits of their own keep.
      let keepsMembers = edit.kind == .update && lists.recordsWithEditedMembers.contains(update.index)
      let isPostponed = try edit.awaitsReply || hasArrived(edit, update.index, update.row, incoming)
      if isPostponed || keepsMembers || keepsOrder(edit, of: update) { postponed.insert(update.index) }
    }
    try postponeMatches(besides: Set(planned.updates.map(\.index)), incoming)
    guard awaitsKey else { return }
    postponed.formUnion(planned.inserts)
    if let tombstones {
      postponedDeletions += max(0, tombstones.count - planned.deletes.count)
    } else if isComplete {
      postponedDeletions += 1
    }
  }

  /// Postpones input records without a planned change: records with equal values, and records that the condition keeps
  /// out.
  ///
  /// - Parameter updated: The indexes of the input records that differ from their records.
  private func postponeMatches(besides updated: Set<Int>, _ incoming: Incoming) throws {
    let others = matches.filter { match in
      guard !updated.contains(match.index) else { return false }
      return isPageOfChanges || unansweredUpdates.contains(match.id) || pendingInserts[match.id] != nil
    }
    let edits = try edits(of: others.map(\.id), layout.entity)
    guard !edits.isEmpty else { return }
    let rows = try context.rows(of: Array(edits.keys))
    for match in others {
      guard let edit = edits[match.id], edit.kind != .delete, let row = rows[match.id] else { continue }
      let isPostponed = try edit.awaitsReply || hasArrived(edit, match.index, row, incoming)
      if isPostponed { postponed.insert(match.index) }
    }
  }

  /// Whether a page of changes has a value or a change of members of an edit that waits to be sent. A user who takes the
  /// edit back leaves nothing to send, and only the page tells the client that the server has the value nevertheless.
  private func hasArrived(_ edit: PendingEdit, _ index: Int, _ row: Row, _ incoming: Incoming) throws -> Bool {
    guard isPageOfChanges, edit.kind == .update, !edit.isConfirmed else { return false }
    let values = try values(index, of: row, incoming)
    let hasValue = values.indices.contains { slot in
      edit.includes(row.entity.slots[slot].name) && values[slot] == IncomingValue.value(row[slot])
    }
    if hasValue || edit.members.isEmpty { return hasValue }
    return try incoming.input.links(index).contains { relationship, link in
      guard let members = edit.members[relationship.name] else { return false }
      let present = Set(incoming.targets.members(link, of: relationship, in: row.id.storeIdentifier))
      return members.added.contains { present.contains(.existing($0)) }
        || members.removed.contains { !present.contains(.existing($0)) }
    }
  }

  /// Whether an edited order keeps a list of the input out.
  private func keepsOrder(_ edit: PendingEdit, of update: MergePlan.Update) -> Bool {
    policy != .server
      && update.lists.contains { $0.relationship.isOrdered && edit.changed.contains($0.relationship.name) }
  }

  /// Whether the reply to an insert may give the inserted record the key of an input record, which the merge inserts as
  /// another record, or of a tombstone.
  private var awaitsKey: Bool {
    pendingInserts.values.contains(where: \.isInsertUnanswered)
      || keylessDeletions.contains(where: \.isInsertUnanswered)
  }
}
