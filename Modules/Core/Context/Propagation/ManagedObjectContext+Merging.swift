import Dispatch
public import Foundation

// Merging the saves of other contexts.

extension ManagedObjectContext {
  /// Merges the saved changes of another context: posts them to the inbox and returns at once. The context processes
  /// its inbox in its own queue, at the latest at its next unit of work. The context's own changes stay, on top of the
  /// newer state. A property changed on both sides is a conflict when this context saves, and its ``mergePolicy``
  /// decides; changes of different properties are merged. ``refresh(_:mergeChanges:)`` and ``rollback()`` resolve such
  /// a conflict before the save.
  ///
  /// May be called on any thread.
  public final func mergeChanges(fromContextDidSave changes: ChangeSet) {
    let isFirst = inbox.post(changes)
    supersedeMainUnit()
    guard isFirst, !storage.confinement.isOfThread else { return }
    storage.confinement.submit { [storage] in storage.context?.insideAlone {} }
  }

  /// Merges the saved changes in a notification named `Notification.Name.managedObjectContextDidSave`; see
  /// ``mergeChanges(fromContextDidSave:)-(ChangeSet)``. Any other notification is ignored.
  public final func mergeChanges(fromContextDidSave notification: Notification) {
    guard let changes = notification.userInfo?[NotificationKey.changes] as? ChangeSet else { return }
    mergeChanges(fromContextDidSave: changes)
  }

  /// Processes the inbox before an operation of a context used without `perform`: a thread's context, where no block
  /// begins a unit of work, and a main-queue context after a save in its own turn ended the unit.
  @inline(__always) final func processInboxIfUsedDirectly() {
    guard storage.confinement.isUsedDirectly, !lease.isPinned else { return }
    if !storage.confinement.isMain || !turn.isCurrent(lease) { processInboxDirectly() }
  }

  @inline(never) private final func processInboxDirectly() {
    // Changes of other contexts would rebase records of the running save onto other rows.
    if storage.isCallingPolicy || storage.isCallingParticipant { return }
    if storage.confinement.isMain {
      openMainUnit()
      return postChanges()
    }
    // A context of a thread has no blocks: each fetch begins a unit of work.
    if !storage.kept.isEmpty { storage.kept.removeAll() }
    guard !inbox.isEmpty || !storage.missing.isEmpty else { return }
    processInbox()
    postChanges()
  }

  /// Applies the saves of other contexts in the inbox. Under a pinned snapshot they wait for its end.
  final func processInbox() {
    guard lease.pin == nil else { return }
    switch inbox.removeAll() {
    case .nothing: break
    case .changes(let list, _):
      lease.end()
      applyPermanentIDs(list.reduce(into: [:]) { $0.merge($1.permanentIDs) { $1 } }, from: list)
      turningIntoFaults(cleanObjects(with: list.flatMap(\.refreshed))) {
        for changes in list { refresh(from: changes) }
      }
      forgetMembers(Set(list.flatMap(\.deleted)))
    case .everything(let overflow):
      lease.end()
      applyPermanentIDs(overflow.permanentIDs, from: [])
      let deletedIDs = overflow.deleted ?? deletedElsewhere()
      for id in deletedIDs { removeDeletedElsewhere(id) }
      forgetMembers(deletedIDs)
      let objects = storage.registry.all
      turningIntoFaults(objects.lazy.filter { $0.pending == nil }) {
        for object in objects {
          object.collections = nil
          if object.pending == nil { object.row = nil }
        }
      }
      refreshRows(of: storage.records)
      events.noteEverything()
    }
    removeMissingObjects()
    awakenLoaded()
  }

  private final func cleanObjects(with ids: [ManagedObjectID]) -> [ManagedObject] {
    ids.compactMap { storage.registry.object(for: $0) }.filter { $0.pending == nil }
  }

  /// The identifiers of registered objects without a record in any store. Used when the inbox does not list the deleted
  /// records. Empty when a store fails: the objects then stay, as faults.
  private final func deletedElsewhere() -> Set<ManagedObjectID> {
    var ids = Set(storage.registry.all.map(\.recordID).filter { !$0.isTemporaryID })
    if storage.hasBareDeletes { ids.formUnion(storage.records.lazy.filter(\.isBareDelete).map(\.id)) }
    guard let present = try? loadRows(Array(ids)) else { return [] }
    return ids.subtracting(present.map(\.id))
  }

  /// Refreshes the objects that a save of another context has changed, and invalidates the loaded lists that may have
  /// other members now.
  private final func refresh(from changes: ChangeSet) {
    var outdated: Set<RelationshipDescription> = []
    for row in changes.inserted {
      outdated.formUnion(row.entity.listsDerivedFromRows)
      refresh(from: row, isNew: true, relinked: [])
    }
    for row in changes.updated {
      outdated.formUnion(row.entity.listsDerivedFromRows)
      refresh(from: row, isNew: false, relinked: changes.relinked[row.id] ?? [])
    }
    refreshRows(of: changes.refreshed.compactMap { storage.record(for: $0) })
    for id in changes.refreshed {
      outdated.formUnion(id.entity.hierarchy.flatMap(\.listsDerivedFromRows))
      guard let object = storage.registry.object(for: id) else { continue }
      if let record = object.pending {
        // A batch update writes attributes only, and raises the version by one: the loaded lists are valid for the new
        // version too.
        object.advanceLists(to: record.base?.version ?? 0)
      } else {
        object.row = nil
      }
      noteRefreshed(object)
    }
    for id in changes.deleted {
      outdated.formUnion(id.entity.hierarchy.flatMap(\.listsDerivedFromRows))
      removeDeletedElsewhere(id)
    }
    invalidateLists(of: changes.deleted, withoutInverse: true)
    for (owner, relationships) in changes.relinked {
      outdated.formUnion(relationships)
      storage.noteLinks(of: relationships)
      if let object = storage.registry.object(for: owner) { noteRefreshed(object) }
    }
    for relationship in outdated { storage.invalidateLists(of: relationship) }
  }

  /// Refreshes the object of a record from its new row, under the object's own changes.
  ///
  /// - Parameter relinked: The relationships of the record with members that the save changed.
  final func refresh(from row: Row, isNew: Bool, relinked: Set<RelationshipDescription>) {
    if let object = storage.registry.object(for: row.id) {
      object.advanceLists(to: row.version, except: relinked)
      if let record = object.pending {
        let inherited = slotsEditedByParents(of: record.id)
        let combined = mergePolicy.combinedSlots(of: record.entity)
        storage.touch(record.id)
        storage.withPending {
          storage.noteMove(of: record, to: row, relinked: relinked)
          record.refresh(from: row, keeping: inherited, combining: combined)
        }
      } else if let formerRow = object.row {
        if formerRow.version < row.version { object.row = throughParents(row) }
      } else {
        object.fill(with: throughParents(row))
      }
      isNew ? events.noteInserted(object) : events.noteRefreshed(object)
    } else if let record = bareDelete(of: row.id) {
      let inherited = slotsEditedByParents(of: record.id)
      let combined = SlotSet()
      storage.touch(record.id)
      storage.withPending {
        storage.noteMove(of: record, to: row, relinked: relinked)
        record.refresh(from: row, keeping: inherited, combining: combined)
      }
    } else if isNew {
      events.noteInserted(object(for: throughParents(row)))
    }
  }

  final func noteRefreshed(_ object: ManagedObject) { events.noteRefreshed(object) }

  /// The unsaved record of a delete without an object.
  private final func bareDelete(of id: ManagedObjectID) -> PendingRecord? {
    guard storage.hasBareDeletes, let record = storage.record(for: id), record.isBareDelete else { return nil }
    return record
  }

  /// Removes the object of a record from the context after another writer has deleted the record. An object with
  /// unsaved changes stays.
  final func removeDeletedElsewhere(_ id: ManagedObjectID) {
    if let record = bareDelete(of: id) {
      storage.untrack(record)
      record.isSilent = true
    }
    guard let object = storage.registry.object(for: id) else { return }
    // The save of the unsaved changes reports the conflict.
    if let record = object.pending, record.kind != .deleted, !record.isUnchanged { return }
    detachDeleted(object)
    events.noteDeleted(object)
  }

  /// Gives objects the permanent identifiers of their records, which another context has saved or a parent has obtained.
  ///
  /// - Parameter list: The changes that name the identifiers.
  private final func applyPermanentIDs(
    _ permanentIDs: [ManagedObjectID: ManagedObjectID], from list: [ChangeSet]
  ) {
    guard !permanentIDs.isEmpty else { return }
    let isParent = isParent
    for (temporary, permanent) in permanentIDs {
      if let object = storage.registry.object(for: temporary) {
        rename(object, to: permanent)
      } else if isParent || storage.exposedTemporaryIDs.remove(temporary) != nil {
        storage.permanentIDs[temporary] = permanent
      }
    }
    let referring = replaceReferences(permanentIDs)
    if isParent { postToChildren(permanentIDs, referring: referring + list.flatMap { $0.insertedIDs + $0.updatedIDs }) }
  }

  /// Posts new permanent identifiers of unsaved records to the children.
  ///
  /// - Parameter referring: The records that may refer to these records. A child may have read rows of them with the
  ///   former identifiers, and reads them again.
  final func postToChildren(_ permanentIDs: [ManagedObjectID: ManagedObjectID], referring: [ManagedObjectID]) {
    var changes = ChangeSet()
    changes.permanentIDs = permanentIDs
    changes.refreshed = referring
    for child in children { child.mergeChanges(fromContextDidSave: changes) }
  }

  /// Replaces identifiers in all unsaved records. Returns the records that referred to a former identifier.
  private final func replaceReferences(_ permanentIDs: [ManagedObjectID: ManagedObjectID]) -> [ManagedObjectID] {
    defer { storage.invalidateAllLists() }
    return replaceReferences(permanentIDs, in: storage.records)
  }

  /// Replaces the temporary identifiers of this context's own records in all unsaved records. Returns the records that
  /// referred to a temporary identifier.
  ///
  /// - Parameter renamed: The records that got the permanent identifiers.
  final func replaceReferences(
    _ permanentIDs: [ManagedObjectID: ManagedObjectID], of renamed: [PendingRecord]
  ) -> [ManagedObjectID] {
    let roots = Set(renamed.map { ObjectIdentifier($0.entity.root) })
    // Both sides of a relationship with an inverse refer to each other. References without an inverse can only be found
    // by a search of all records.
    if persistentStoreCoordinator?.managedObjectModel.isNamedWithoutInverse(roots) != false {
      return replaceReferences(permanentIDs)
    }
    let partners = renamed.flatMap(\.partners).compactMap { storage.record(for: permanentIDs[$0] ?? $0) }
    return replaceReferences(permanentIDs, in: renamed + partners)
  }

  private final func replaceReferences(
    _ permanentIDs: [ManagedObjectID: ManagedObjectID], in records: [PendingRecord]
  ) -> [ManagedObjectID] {
    var referring: [ManagedObjectID] = []
    storage.withPending {
      for record in records {
        if record.replaceReferences(permanentIDs) { referring.append(record.id) }
        guard record.hasMembers else { continue }
        record.members = record.members.mapValues { $0.mapped { permanentIDs[$0] ?? $0 } }
        for list in (record.object?.collections ?? [:]).values { list.effective = nil }
      }
    }
    return referring
  }

  /// Gives an object another identifier. If the context already has an object with the identifier, because an inserted
  /// record became a stored record in another context's save, the renamed object is detached, and its unsaved changes
  /// move to the other object.
  final func rename(_ object: ManagedObject, to id: ManagedObjectID) {
    let former = object.recordID
    if let registered = storage.registry.object(for: id), registered !== object {
      return replace(object, by: registered)
    }
    if isParent || object.flags.contains(.temporaryIDExposed) { storage.permanentIDs[former] = id }
    if let record = object.pending, record.isTracked { storage.rename(record, to: id) }
    object.row = object.row?.renamed(to: id)
    storage.registry.move([ObjectRegistry.Move(object, to: id)])
  }
}

extension EntityDescription {
  /// The to-many relationships whose members are found by a reference in this entity's rows, so that each changed row
  /// may change their lists.
  var listsDerivedFromRows: [RelationshipDescription] {
    relationships.compactMap { relationship in
      guard !relationship.isToMany, let inverse = relationship.inverse, inverse.isToMany else { return nil }
      return inverse
    }
  }
}
