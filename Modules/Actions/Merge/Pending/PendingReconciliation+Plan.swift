import CoherenceCore
import CoherenceReconciliation

/// The part of a merge's plan that pending edits allow, and the decisions over these edits.
extension PendingReconciliation {
  /// The changes of a merge: all planned changes, or the changes that pending edits allow.
  struct Changes {
    /// The indexes of the input records to insert.
    var inserts: [Int] = []
    var updates: [MergePlan.Update] = []
    var deletes: [Row] = []
    /// The destinations that the links of the inserts leave out.
    var keptTargets: [RelationshipDescription: Set<ManagedObjectID>] = [:]

    var count: Int { inserts.count + updates.count + deletes.count }
  }

  /// The input and its links, for the comparison with pending edits.
  struct Incoming {
    let input: any MergeInput
    let inputByKey: InputIndex
    let targets: MergeTargets
  }

  /// Returns the part of the planned changes that pending edits allow. Called once.
  func remainder(of planned: Changes, _ incoming: Incoming) throws -> Changes {
    // The edits in `pendingInserts` have no members. A deletion needs none; an update needs the members that the user
    // added.
    let ids = planned.updates.map(\.row.id) + planned.deletes.map(\.id).filter { pendingInserts[$0] == nil }
    let completeEdits = try edits(of: ids, layout.entity)
    let edits =
      pendingInserts.isEmpty ? completeEdits : pendingInserts.merging(completeEdits) { _, complete in complete }
    var remainder = Changes()
    var unanswered = try unansweredInserts(planned, incoming)
    remainder.inserts = try planned.inserts.filter { index in
      try allowsInsert(index, incoming) && !isUnanswered(index, &unanswered, incoming)
    }
    let kept = try keptTargets(of: remainder.inserts, incoming)
    keptCount += kept.indexes.count
    postponed.formUnion(kept.indexes)
    remainder.inserts.removeAll(where: kept.refused.contains)
    remainder.inserts = try withoutDependents(remainder.inserts, of: planned.inserts, incoming)
    remainder.keptTargets = kept.ids
    try postponeLinks(incoming)
    let lists = try reconciledLists(of: planned.updates, edits, incoming)
    let partnerSlots = try slotsOfEditedPartners(of: planned.updates, edits, incoming)
    for update in planned.updates {
      var update = update
      update.lists = lists.lists[update.index] ?? []
      update.keptSlots = partnerSlots[update.index] ?? SlotSet()
      guard let edit = edits[update.row.id], edit.kind != .delete else {
        let isPartnerKept = !update.keptSlots.isEmpty
        if isPartnerKept || lists.recordsWithEditedLists.contains(update.index) { keptCount += 1 }
        // The update may have lost every difference to edits of members and partners.
        let remains =
          try !isPartnerKept && !lists.recordsWithDroppedLists.contains(update.index)
          || differs(update, values(update.index, of: update.row, incoming))
        if remains { remainder.updates.append(update) }
        continue
      }
      if lists.discardedRelationships[update.index] == nil, let kept = keptSlots(of: update, edit) {
        update.keptSlots = update.keptSlots.union(kept)
        keptCount += 1
        if !update.lists.isEmpty { remainder.updates.append(update) }
        continue
      }
      let discarded = lists.discardedRelationships[update.index] ?? []
      let isListKept = lists.recordsWithEditedLists.contains(update.index)
      if try reconcile(&update, edit, discarded: discarded, isListKept, incoming) {
        remainder.updates.append(update)
      }
    }
    remainder.deletes = try planned.deletes.filter { try allowsDelete($0, edits[$0.id]) }
    let updated = Set(planned.updates.map(\.index))
    try postpone(planned, edits, lists, partnerSlots, incoming)
    try decideOverMatches(besides: updated, incoming)
    try endConflictsOfMatches(besides: updated, incoming)
    try endConflictsOfDeletions { key in
      guard isComplete || tombstones?.contains(key) == true else { return false }
      return try incoming.inputByKey.index(of: key.values) == nil
    }
    return remainder
  }

  // MARK: Inserts

  /// Whether the merge may insert an input record. A pending deletion of the record, or of the destination of a required
  /// link, forbids the insert; it counts as kept, and may become a conflict.
  private func allowsInsert(_ index: Int, _ incoming: Incoming) throws -> Bool {
    if let edit = pendingDeletions[MergeKey(values: try incoming.inputByKey.key(at: index))] {
      keptCount += 1
      // Also for a confirmed deletion: another client may have restored the record before the reply, and the next page
      // of changes does not have the record.
      postponed.insert(index)
      if !edit.isFixed, policy == .conflict || edit.conflict != nil {
        try decideOverDeletion(edit, index, incoming)
      }
      return false
    }
    guard incoming.targets.hasDeletedTargets else { return true }
    for (relationship, link) in try incoming.input.links(index) where !relationship.isToMany && !relationship.isOptional
    {
      if incoming.targets.isDeleted(link, of: relationship) {
        keptCount += 1
        return false
      }
    }
    return true
  }

  /// Postpones the input records with a link to a record with a pending deletion, which the merge leaves out.
  private func postponeLinks(_ incoming: Incoming) throws {
    guard incoming.targets.hasDeletedTargets else { return }
    for index in 0..<incoming.input.count where !incoming.inputByKey.isExcluded(index) {
      let isLeftOut = try incoming.input.links(index).contains { relationship, link in
        link.keys.contains { incoming.targets.target($0, of: relationship) == .deleted }
      }
      if isLeftOut { postponed.insert(index) }
    }
  }

  /// The unanswered inserts whose records may be among the planned inserts; `nil` without such inserts, and for partial
  /// input: a record that a merge of partial input left out might never come again.
  private func unansweredInserts(_ planned: Changes, _ incoming: Incoming) throws -> UnansweredInserts? {
    guard !planned.inserts.isEmpty, isWhole else { return nil }
    let idsInInput = Set(matches.map(\.id)).union(planned.updates.map(\.row.id))
    let ids = pendingInserts.values
      .filter { $0.isInsertUnanswered && !idsInInput.contains($0.recordID) }
      .map(\.recordID)
    let deleted = (pendingDeletions.values + keylessDeletions).filter(\.isInsertUnanswered)
    guard !ids.isEmpty || !deleted.isEmpty else { return nil }
    let edits = try edits(of: ids, layout.entity).values.filter { $0.kind == .insert }
    return UnansweredInserts(edits + deleted, try context.rows(of: ids), layout: layout)
  }

  /// Whether a planned insert has the values of an unanswered insert, and no record of the input links to it. Each
  /// unanswered insert matches once, and counts as kept.
  private func isUnanswered(_ index: Int, _ unanswered: inout UnansweredInserts?, _ incoming: Incoming) throws -> Bool {
    guard unanswered != nil, !incoming.targets.isTarget(index) else { return false }
    let values = try values(index, of: nil, incoming)
    let isMatch = unanswered?.match(incoming.input.entity(index)) { slot in
      if case .value(let value)? = values[slot] { value } else { nil }
    }
    if isMatch == true { keptCount += 1 }
    return isMatch == true
  }

  /// The deletion of a record that the server has changed is a conflict, until the server has the former values again.
  private func decideOverDeletion(_ edit: PendingEdit, _ index: Int, _ incoming: Incoming) throws {
    let values = namedValues(
      try values(index, of: nil, in: edit.recordID.storeIdentifier, incoming), incoming.input.entity(index))
    let changed = values.filter { name, value in
      edit.base[name].map { $0 != value } ?? false && edit.ownValues[name]?.contains(value) != true
        && !edit.serverAssigned.contains(name)
    }
    if changed.isEmpty {
      guard endsConflict(edit, values) else { return }
      decide(over: edit, serverValues: values, isConflict: false, endsConflict: true)
    } else if policy == .conflict {
      decide(over: edit, serverValues: values, conflicting: Set(changed.keys), isConflict: true)
    }
  }

  // MARK: Updates

  /// The slots to keep of an update that only the pending edit of its record has caused, the usual case: the server still
  /// has the values from before the edit, or has values from the edit itself. Reads nothing of the input.
  ///
  /// - Returns: `nil` for any other update.
  private func keptSlots(of update: MergePlan.Update, _ edit: PendingEdit) -> SlotSet? {
    guard edit.kind == .update, !edit.isConfirmed, edit.conflict == nil, let differences = differences[update.index],
      !differences.isEmpty
    else { return nil }
    var kept = SlotSet()
    for difference in differences {
      let name = update.row.entity.slots[difference.slot].name
      guard edit.changed.contains(name), IncomingValue.value(difference.value).isKnown(to: edit, name) else {
        return nil
      }
      kept.insert(difference.slot)
    }
    return kept
  }

  /// Leaves out the slots of an update whose pending edits win, and decides over the edit.
  ///
  /// - Parameters:
  ///   - discarded: The names of the to-many relationships whose pending edits lost.
  ///   - isListKept: Whether pending edits keep or change one of the update's lists.
  /// - Returns: Whether something remains to be changed.
  private func reconcile(
    _ update: inout MergePlan.Update, _ edit: PendingEdit, discarded: Set<String>, _ isListKept: Bool,
    _ incoming: Incoming
  ) throws -> Bool {
    let row = update.row
    let values = try values(update.index, of: row, incoming)
    let isInsert = edit.kind == .insert
    // The input is older than the server's confirmation, and has the record from before its deletion.
    if edit.isConfirmed, isReinserted(update.index, incoming) {
      keptCount += 1
      postponed.insert(update.index)
      return false
    }
    // Of a record inserted again the input has only the former record.
    let isEditFixed = edit.isFixed || isInsert && isReinserted(update.index, incoming)
    var discarded = isEditFixed ? [] : discarded
    var conflicting: Set<String> = []
    var isKept = isListKept
    // Whether a value of the server gets neither into the record nor into a conflict.
    var isLeftOut = false
    var remains = !update.lists.isEmpty
    for slot in values.indices {
      guard let value = values[slot], value != .value(row[slot]) else { continue }
      let name = row.entity.slots[slot].name
      if update.keptSlots.contains(slot) || value.isOutdated(by: edit, name) {
        update.keptSlots.insert(slot)
        isKept = true
        continue
      }
      if !edit.includes(name) {
        remains = true
        continue
      }
      // With the policy `server` the value of a conflict wins, also if it became the base of the edit.
      let isUnchangedByServer = value.isKnown(to: edit, name) && !(policy == .server && isInConflict(value, name, edit))
      if !isEditFixed, !isUnchangedByServer, policy == .server {
        discarded.insert(name)
        remains = true
        continue
      }
      update.keptSlots.insert(slot)
      isKept = true
      if isEditFixed || isUnchangedByServer { continue }
      if policy == .conflict {
        conflicting.insert(name)
      } else if !isInsert, !isInConflict(value, name, edit) {
        isLeftOut = true
      }
    }
    if isKept { keptCount += 1 }
    if isLeftOut || edit.isConfirmed && isKept { postponed.insert(update.index) }
    let endsConflict = conflicting.isEmpty && endsConflict(edit, row, values, discarded: discarded)
    if !isEditFixed, isInsert || !discarded.isEmpty || !conflicting.isEmpty || endsConflict {
      decide(
        over: edit, serverValues: namedValues(values, row.entity), discarded: discarded, conflicting: conflicting,
        isConflict: !conflicting.isEmpty, endsConflict: endsConflict)
    }
    return remains
  }

  /// Whether a record with the key of an input record was deleted here before it was inserted again. The server still has the
  /// former record.
  func isReinserted(_ index: Int, _ incoming: Incoming) -> Bool {
    guard !pendingDeletions.isEmpty, let key = try? incoming.inputByKey.key(at: index) else { return false }
    return pendingDeletions[MergeKey(values: key)] != nil
  }

  /// Decides over the pending inserts whose rows equal the input, or are protected by the condition: the server has
  /// these records, so that the inserts become updates.
  private func decideOverMatches(besides updated: Set<Int>, _ incoming: Incoming) throws {
    for match in matches where !updated.contains(match.index) {
      guard let edit = pendingInserts[match.id], !edit.isFixed, !isReinserted(match.index, incoming) else {
        continue
      }
      let entity = incoming.input.entity(match.index)
      let values = namedValues(try values(match.index, of: nil, in: match.id.storeIdentifier, incoming), entity)
      decide(over: edit, serverValues: values, isConflict: false)
    }
  }

  // MARK: Deletions

  /// Returns the rows that a merge may delete. Called once, instead of ``remainder(of:_:)``.
  ///
  /// - Parameter keys: The keys of all records of the server.
  func remainder(ofDeletes deletes: [Row], _ keys: Set<MergeKey>) throws -> [Row] {
    if isComplete { endConflictsOfDeletions { !keys.contains($0) } }
    let ids = deletes.map(\.id).filter { pendingInserts[$0] == nil }
    let edits = try edits(of: ids, layout.entity).merging(pendingInserts) { first, _ in first }
    return try deletes.filter { try allowsDelete($0, edits[$0.id]) }
  }

  /// Whether the merge may delete a record that the input does not contain. Counts a kept edit, postpones the deletion
  /// until the reply to an edit, and decides over an edit that loses or becomes a conflict. Decides nothing over an edit
  /// that has moved its record into the filter: the input would not name the record.
  private func allowsDelete(_ row: Row, _ edit: PendingEdit?) throws -> Bool {
    guard let edit, edit.kind != .delete else { return true }
    // A record that the input only lacks may be newer than the input.
    if edit.isConfirmed, tombstones != nil { return true }
    if edit.kind == .update, !edit.isFixed, try !isMovedIntoFilter(row, by: edit) {
      let isDeleted = policy == .server
      decide(
        over: edit, serverValues: nil, discarded: isDeleted ? edit.changed : [], isConflict: !isDeleted,
        endsConflict: isDeleted && edit.conflict != nil)
      if isDeleted { return true }
    }
    keptCount += 1
    keptRecords.insert(edit.recordID)
    if edit.isFixed { postponedDeletions += 1 }
    return false
  }

  // MARK: Values of the input

  /// The values of an input record, by slot.
  ///
  /// - Parameters:
  ///   - row: The row that an update with the values would write; without a row, all values of the record.
  ///   - store: The store of a record without a row; `nil` for a record to insert.
  func values(
    _ index: Int, of row: Row?, in store: StoreIdentifier? = nil, _ incoming: Incoming
  ) throws -> [IncomingValue?] {
    var attributes: [AttributeValue?] = []
    try incoming.input.readValues(index, into: &attributes, isChecked: true)
    for slot in layout.ignoredSlots { attributes[slot] = nil }
    var values = attributes.map { $0.map(IncomingValue.value) }
    for (relationship, link) in try incoming.input.links(index) {
      guard let slot = relationship.slot, !layout.ignores(relationship) else { continue }
      switch link.keys.first.flatMap({
        incoming.targets.target($0, of: relationship, in: row?.id.storeIdentifier ?? store)
      }) {
      case .existing(let id): values[slot] = .value(.reference(id))
      case .new: values[slot] = .newRecord
      case .deleted, .missing: continue
      // The condition protects the record. No stored record equals the missing one.
      case nil where !link.keys.isEmpty: values[slot] = .newRecord
      case nil: values[slot] = .value(.null)
      }
    }
    // A row of another subentity has only the slots of the merge's entity in common with the input record.
    let own = incoming.input.entity(index)
    guard let row, !row.entity.isKind(of: own) else { return values }
    return Array(values.prefix(layout.entity.slotCount))
  }

  func namedValues(_ values: [IncomingValue?], _ entity: EntityDescription) -> [String: AttributeValue] {
    var named: [String: AttributeValue] = [:]
    for (slot, value) in values.enumerated() where slot < entity.slotCount {
      if case .value(let value)? = value { named[entity.slots[slot].name] = value }
    }
    return named
  }

  /// Whether an update would change an attribute, a to-one relationship or a list.
  private func differs(_ update: MergePlan.Update, _ values: [IncomingValue?]) -> Bool {
    values.indices.contains { slot in
      !update.keptSlots.contains(slot) && values[slot].map { $0 != .value(update.row[slot]) } ?? false
    } || !update.lists.isEmpty
  }
}
