// The processing of an inbox whose list of changes has collapsed.

extension ManagedObjectContext {
  /// Refreshes all objects, because the inbox does not list the changes.
  final func process(_ overflow: Inbox.Overflow) {
    lease.end()
    let overflow = applyingPermanentIDs(of: overflow)
    let deletedIDs = overflow.deleted ?? deletedElsewhere()
    for id in deletedIDs { removeDeletedElsewhere(id) }
    forgetMembers(deletedIDs)
    let objects = storage.registry.all
    touchOwners()
    touchHiddenEdits(of: objects)
    turningIntoFaults(objects.lazy.filter { $0.pending == nil }) {
      for object in objects {
        object.collections = nil
        if object.pending == nil { object.row = nil }
      }
    }
    storage.invalidateAllLists()
    refreshRows(of: storage.records)
    storage.withPending { storage.noteLinksOfDeleted() }
    events.noteEverything()
    passOn(overflow)
  }

  /// Gives objects and references their permanent identifiers, and returns the collapsed list with all of these
  /// identifiers, for the children.
  final func applyingPermanentIDs(of overflow: Inbox.Overflow) -> Inbox.Overflow {
    // The inbox has dropped identifiers above its bound. Only the parents' new identifiers concern objects of this
    // context, and the parents still have them.
    let permanentIDs = ancestors.reduce(into: overflow.permanentIDs) { ids, ancestor in
      ids.merge(ancestor.storage.withPending { ancestor.storage.formerIDs }.all) { $1 }
    }
    replaceIdentifiers(permanentIDs)
    return Inbox.Overflow(permanentIDs: permanentIDs, deleted: overflow.deleted)
  }

  /// Posts a collapsed list to the children.
  final func passOn(_ overflow: Inbox.Overflow) {
    for child in children { child.scheduleInbox(isFirst: child.inbox.post(overflow)) }
  }

  /// The identifiers of registered objects without a record in any store. Used when the inbox does not list the deleted
  /// records. Empty when a store fails: the objects then stay, as faults. A record that a parent has deleted is left
  /// out, because the parent may roll back.
  private final func deletedElsewhere() -> Set<ManagedObjectID> {
    var ids = Set(storage.registry.all.map(\.recordID).filter { !$0.isTemporaryID })
    if storage.unsaved.hasBareDeletes { ids.formUnion(storage.records.lazy.filter(\.isBareDelete).map(\.id)) }
    let readableIDs = readable(Array(ids)) { $0 }
    guard let present = try? loadRows(readableIDs) else { return [] }
    return Set(readableIDs).subtracting(present.map(\.id)).filter(isUnchangedInParents)
  }
}
