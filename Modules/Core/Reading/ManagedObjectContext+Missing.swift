// Missing records to which objects and lists still refer.

extension ManagedObjectContext {
  /// Remembers records that a load did not find. Objects and lists in use stay as they are; those whose records are really
  /// gone are taken out when the context next takes in what others saved.
  ///
  /// A snapshot does not find newer records than itself, and a parent's deletes may be undone: neither is remembered.
  final func noteMissing(_ ids: [ManagedObjectID]) {
    guard lease.pins == 0 else { return }
    let wasEmpty = storage.missing.isEmpty
    for id in ids where !id.isTemporaryID && storage.missing.count < Inbox.bound && isUnknownBelow(id) {
      storage.missing.insert(id)
      storage.registry.object(for: id)?.flags.insert(.missing)
    }
    guard wasEmpty, !storage.missing.isEmpty, !storage.confinement.isOfThread else { return }
    storage.confinement.submit { [storage] in storage.context?.inside {} }
  }

  /// Takes out the objects of records that a second load does not find. Called where the saves of others are taken in.
  final func takeOutMissing() {
    guard !storage.missing.isEmpty, lease.pins == 0 else { return }
    let ids = storage.missing
    lease.end()
    // A store that fails decides nothing.
    guard let rows = try? loadRows(Array(ids)) else { return }
    lease.end()
    storage.missing = []
    var gone = ids
    for row in rows {
      gone.remove(row.id)
      guard let object = storage.registry.object(for: row.id) else { continue }
      object.flags.remove(.missing)
      if object.pending == nil, object.row == nil { object.row = row }
    }
    for id in gone { removeDeletedElsewhere(id) }
    forgetMembers(gone)
    outdateLists(of: gone)
  }

  /// Makes the loaded lists out of date in which deleted records may be members.
  ///
  /// - Parameter withoutInverse: Only the lists of relationships without an inverse: the others hear of a delete from their
  ///   members.
  final func outdateLists(of deleted: some Sequence<ManagedObjectID>, withoutInverse: Bool = false) {
    var roots: Set<EntityDescription> = []
    for id in deleted { roots.insert(id.entity.root) }
    guard !roots.isEmpty, let model = persistentStoreCoordinator?.managedObjectModel else { return }
    for relationship in model.entities.lazy.flatMap(\.relationships)
    where relationship.isToMany && roots.contains(relationship.destination.root)
      && (!withoutInverse || relationship.inverse == nil)
    {
      storage.outdateLists(of: relationship)
    }
  }

  /// Removes missing members from unsaved changes of lists.
  final func forgetMembers(_ gone: Set<ManagedObjectID>) {
    guard !gone.isEmpty else { return }
    storage.withPending {
      for record in storage.records where record.hasMembers {
        for relationship in record.members.keys { record.members[relationship]?.forget(gone) }
        for list in (record.object?.collections ?? [:]).values { list.effective = nil }
      }
    }
  }
}
