// Missing records of objects and lists: records that a load did not find.

extension ManagedObjectContext {
  /// Registers records as missing, because a load did not find them. Their objects stay until the context next
  /// processes its inbox. The records are then loaded again, and the objects of records still missing are removed.
  ///
  /// Does nothing in a snapshot, which cannot find newer records, and for records deleted by a parent, which may roll
  /// back.
  final func noteMissing(_ ids: [ManagedObjectID]) {
    guard lease.pins == 0 else { return }
    let wasEmpty = storage.vanished.missing.isEmpty
    for id in ids where !id.isTemporaryID && storage.vanished.missing.count < Inbox.bound && isUnchangedInParents(id) {
      storage.vanished.missing.insert(id)
      storage.registry.object(for: id)?.flags.insert(.missing)
    }
    guard wasEmpty, !storage.vanished.missing.isEmpty, !storage.confinement.isOfThread else { return }
    storage.confinement.submit { [storage] in storage.context?.insideAlone {} }
  }

  /// Removes the objects of missing records, if a second load does not find the records either. Called after the inbox
  /// was processed.
  final func removeMissingObjects() {
    guard !storage.vanished.missing.isEmpty, lease.pins == 0 else { return }
    let ids = readable(Array(storage.vanished.missing)) { $0 }
    lease.end()
    // A failing store proves nothing about the records.
    guard let rows = try? loadRows(ids) else { return }
    lease.end()
    storage.vanished.missing = []
    var gone = Set(ids)
    for row in rows {
      gone.remove(row.id)
      guard let object = storage.registry.object(for: row.id) else { continue }
      object.flags.remove(.missing)
      if object.pending == nil, object.row == nil { object.fill(with: row) }
    }
    for id in gone { removeDeletedElsewhere(id) }
    forgetMembers(gone)
    invalidateLists(of: gone)
  }

  /// Invalidates the loaded lists with a possible member among records that were deleted or moved.
  ///
  /// - Parameter withoutInverse: Whether only lists of relationships without an inverse are invalidated. Other lists
  ///   are updated through the inverse.
  final func invalidateLists(of ids: some Sequence<ManagedObjectID>, withoutInverse: Bool = false) {
    var roots: Set<EntityDescription> = []
    // Most identifiers are of one space in a row.
    var latest: ManagedObjectID?
    for id in ids where latest?.hasSameSpace(as: id) != true {
      roots.insert(id.entity.root)
      latest = id
    }
    guard !roots.isEmpty, let model = persistentStoreCoordinator?.managedObjectModel else { return }
    for relationship in model.entities.lazy.flatMap(\.relationships)
    where relationship.isToMany && roots.contains(relationship.destination.root)
      && (!withoutInverse || relationship.inverse == nil)
    {
      storage.invalidateLists(of: relationship)
    }
  }

  /// Removes missing records from the unsaved changes of member lists, except records with an unsaved reference or link
  /// to the list's owner: they stay until a save reports the conflict. The removal of a missing record from a list is no
  /// change any more, unless the context has edits of the record.
  final func forgetMembers(_ gone: Set<ManagedObjectID>) {
    guard !gone.isEmpty else { return }
    storage.withPending {
      let changedRecords = gone.compactMap { storage.recordUnderLock(for: $0) }.filter { $0.kind == .updated }
      let unedited = changedRecords.isEmpty ? gone : gone.subtracting(changedRecords.map(\.id))
      for record in storage.records where record.hasMembers {
        for relationship in Array(record.members.keys) {
          let referring = changedRecords.filter { $0.changesLink(to: record.id, of: relationship) }
          record.members[relationship]?.forget(
            referring.isEmpty ? gone : gone.subtracting(referring.map(\.id)))
          record.members[relationship]?.forgetRemovals(of: unedited)
        }
        for list in (record.object?.collections ?? [:]).values { list.effective = nil }
      }
    }
  }
}

extension PendingRecord {
  /// Whether the record has unsaved changes of its side of a relationship, which lead to an owner or away from it.
  ///
  /// - Parameter relationship: The owner's side, with the record as a member.
  fileprivate func changesLink(to owner: ManagedObjectID, of relationship: RelationshipDescription) -> Bool {
    guard let inverse = relationship.inverse else { return false }
    return inverse.slot.map(changed.contains) ?? (members[inverse]?.contains(owner) == true)
  }
}
