// Loaded lists of members in loops that change and read them: no step costs as much as the list.

extension ManagedObject {
  /// Whether a member of a loaded list was deleted since the last call.
  ///
  /// The fewer are looked up among the others: the new deletes among the members, or the members among the deleted
  /// records. A loop that deletes a member of each of many lists would otherwise compare each list with all deletes.
  final func mayHaveDeletedMember(
    _ list: MemberList, of relationship: RelationshipDescription, in storage: ContextStorage
  ) -> Bool {
    let new = storage.pendingRules.objects.latest(storage.pendingRules.deleteCount - list.comparedDeletes)
    let changes = pending?.members[relationship]
    guard list.ids.count + (changes?.addedCount ?? 0) < new.count else {
      return new.contains { deleted in
        guard let id = deleted?.recordID else { return false }
        return changes?.contains(id) ?? list.contains(id)
      }
    }
    func isDeleted(_ id: ManagedObjectID) -> Bool { storage.record(for: id)?.kind == .deleted }
    return changes?.added.contains(where: isDeleted) == true
      || list.ids.contains { isDeleted($0) && changes?.contains($0) != false }
  }

  /// Updates a loaded list with the context's own changes before a further change: adds or removes a member, sets the
  /// order, or drops the list, which the next read makes anew.
  ///
  /// - Parameter record: The record of the unsaved changes so far.
  final func updateEffectiveMembers(
    of relationship: RelationshipDescription, before edit: MemberEdit, _ record: PendingRecord
  ) {
    guard let list = collections?[relationship], let count = list.effective?.count,
      let changes = record.members[relationship]
    else {
      collections?[relationship]?.effective = nil
      return
    }
    switch edit {
    case .add(let id) where changes.addsLast(id, behind: list.effective?.last) && !list.isMember(id, changes):
      list.insertEffective(id, isOrdered: relationship.isOrdered)
    // The changes ignore an unsaved record that they have not added.
    case .remove(let id) where !id.isTemporaryID || changes.contains(id) == true:
      if let index = list.effective?.index(of: id, isOrdered: relationship.isOrdered) {
        list.effective?.remove(at: index)
      }
    case .order(let order) where order.count == count && order.allSatisfy({ list.isMember($0, changes) }):
      list.effective = order
    case .add, .remove, .order, .replace:
      list.effective = nil
    }
  }
}

extension MemberList {
  /// Whether a record is a member after changes.
  fileprivate func isMember(_ id: ManagedObjectID, _ changes: MemberChanges) -> Bool {
    changes.contains(id) ?? contains(id)
  }

  /// Adds a member to the list with the context's own changes: as the last one of an ordered list, otherwise in the order
  /// of the identifiers.
  fileprivate func insertEffective(_ id: ManagedObjectID, isOrdered: Bool) {
    guard let index = isOrdered ? effective?.count : effective?.insertionIndex(of: id) else { return }
    effective?.insert(id, at: index)
  }
}

extension [ManagedObjectID] {
  /// The index of a member; `nil` for no member. An undo removes the members that its group has added to an ordered list
  /// from the last to the first.
  fileprivate func index(of id: ManagedObjectID, isOrdered: Bool) -> Int? {
    if last == id { return count - 1 }
    if isOrdered { return firstIndex(of: id) }
    let index = insertionIndex(of: id)
    return index < count && self[index] == id ? index : nil
  }

  /// The index of an identifier to be added to a list in the order of the identifiers.
  fileprivate func insertionIndex(of id: ManagedObjectID) -> Int {
    var (start, end) = (0, count)
    while start < end {
      let middle = (start + end) / 2
      if ManagedObjectID.precedes(self[middle], id) { start = middle + 1 } else { end = middle }
    }
    return start
  }
}
