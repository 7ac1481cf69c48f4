import Dispatch
public import Foundation

// Merging the saves of other contexts.

extension ManagedObjectContext {
  /// Merges the saved changes of another context: posts them to the inbox and returns at once. The context processes
  /// its inbox in its own queue, at the latest at its next unit of work. The context's own changes stay, on top of the
  /// newer state. A property changed on both sides is a conflict when this context saves, and its ``mergePolicy``
  /// decides; changes of different properties are merged. ``refresh(_:mergeChanges:)`` and ``rollback()`` resolve such
  /// a conflict before the save. A change that the other context has saved too is no change any more, unless a
  /// ``MergeRule`` of the policy combines equal changes, as a sum or a closure does.
  ///
  /// The children of this context merge the changes too. May be called on any thread.
  public final func mergeChanges(fromContextDidSave changes: ChangeSet) {
    postToInbox(changes)
    for child in children { child.mergeChanges(fromContextDidSave: changes) }
  }

  /// Posts the saved changes of another context to the inbox of this context alone.
  final func postToInbox(_ changes: ChangeSet) { scheduleInbox(isFirst: inbox.post(changes)) }

  /// Has the context process its inbox after a post.
  ///
  /// - Parameter isFirst: Whether the inbox was empty.
  final func scheduleInbox(isFirst: Bool) {
    supersedeMainUnit()
    guard isFirst, !storage.confinement.isOfThread else { return }
    storage.confinement.submit { [storage] in
      guard let context = storage.context else { return }
      context.insideAlone {}
      context.noteIfEmpty()
    }
  }

  /// Has the inbox of a context with a queue drop changes that concern nothing in the context, until its next block. To
  /// be called outside of a block, in an entry of the queue, so that no other thread uses the context during the call.
  private final func noteIfEmpty() {
    guard !storage.confinement.isMain, storage.isEmpty, lease.pin == nil, turnObserver == nil, !isParent else { return }
    inbox.noteEmptyContext()
  }

  /// Merges the saved changes in a notification named `Notification.Name.managedObjectContextDidSave`; see
  /// ``mergeChanges(fromContextDidSave:)-(ChangeSet)``. Any other notification is ignored.
  public final func mergeChanges(fromContextDidSave notification: Notification) {
    guard let changes = notification.userInfo?[NotificationKey.changes] as? ChangeSet else { return }
    mergeChanges(fromContextDidSave: changes)
  }

  /// Processes the inbox before an operation of a context used without `perform`: a thread's context, where no block
  /// begins a unit of work, and a main-queue context after a save in its own turn ended the unit. In the middle of a
  /// block, a child follows the saves of its parents.
  @inline(__always) final func processInboxIfUsedDirectly() {
    guard storage.confinement.isUsedDirectly else {
      if lease.seenSavesOfParents != nil { followSavesOfParents() }
      return
    }
    if lease.isPinned { return }
    if !storage.confinement.isMain || !turn.isCurrent(lease) { processInboxDirectly() }
  }

  @inline(never) private final func processInboxDirectly() {
    // Changes of other contexts would rebase records of the running save onto other rows.
    if storage.callbacks.areInSave { return }
    if storage.confinement.isMain {
      openMainUnit()
      return postChanges()
    }
    // A context of a thread has no blocks: each fetch begins a unit of work.
    if !storage.retainedReads.isEmpty { storage.retainedReads.removeAll() }
    guard !inbox.isEmpty || !storage.vanished.missing.isEmpty else { return }
    processInbox()
    postChanges()
  }

  /// Applies the saves of other contexts in the inbox. Under a pinned snapshot they wait for its end.
  final func processInbox() {
    guard lease.pin == nil else { return }
    applyIdentifiersOfFartherParents()
    inbox.applyAll { content in
      switch content {
      case .nothing: break
      case .changes(let list, _): process(list)
      case .everything(let overflow): process(overflow)
      }
    }
    removeMissingObjects()
    awakenLoaded()
  }

  private final func process(_ list: [ChangeSet]) {
    lease.end()
    applyPermanentIDs(from: list)
    var outdated: Set<RelationshipDescription> = []
    turningIntoFaults(cleanObjects(with: list.flatMap(\.refreshed))) {
      for changes in list { outdated.formUnion(refresh(from: changes)) }
    }
    touchOwners(ofListsOf: outdated)
    forgetMembers(Set(list.flatMap(\.deleted)))
  }

  private final func cleanObjects(with ids: [ManagedObjectID]) -> [ManagedObject] {
    ids.compactMap { storage.registry.object(for: $0) }.filter { $0.pending == nil }
  }

  /// Refreshes the objects that a save of another context has changed, and invalidates the loaded lists that may have
  /// other members now. Returns the relationships of these lists.
  private final func refresh(from changes: ChangeSet) -> Set<RelationshipDescription> {
    var outdated: Set<RelationshipDescription> = []
    for row in changes.inserted {
      outdated.formUnion(row.entity.listsDerivedFromRows)
      refresh(from: row, isNew: true, relinked: [])
    }
    for row in changes.updated {
      outdated.formUnion(row.entity.listsDerivedFromRows)
      refresh(from: row, isNew: false, relinked: changes.relinked[row.id] ?? [])
    }
    // A parent has passed the changes on after the save. The live results have processed the save already. Beside unsaved
    // records, they have read lists that the context drops now.
    if !changes.permanentIDs.isEmpty, !changes.refreshed.isEmpty, !UnsavedHierarchies(in: self).isEmpty {
      for id in changes.refreshed { storage.touch(id) }
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
        // The live results have processed the save before the object of the new record had its permanent identifier.
        if !changes.permanentIDs.isEmpty, object.row?.version == 0 { storage.touch(id) }
        object.row = nil
      }
      noteRefreshed(object)
    }
    for id in changes.deleted {
      outdated.formUnion(id.entity.hierarchy.flatMap(\.listsDerivedFromRows))
      removeDeletedElsewhere(id)
    }
    invalidateLists(of: changes.deleted, withoutInverse: true)
    let relinked = changes.relinked.values.reduce(into: Set<RelationshipDescription>()) { $0.formUnion($1) }
    if !relinked.isEmpty { storage.withPending { storage.noteLinks(of: relinked) } }
    outdated.formUnion(relinked)
    outdated.formUnion(forgetConfirmedLinks(in: changes))
    for owner in changes.relinked.keys {
      if let object = storage.registry.object(for: owner) { noteRefreshed(object) }
    }
    for relationship in outdated { storage.invalidateLists(of: relationship) }
    return outdated
  }

  /// Refreshes the object of a record from its new row, under the object's own changes.
  ///
  /// - Parameter relinked: The relationships of the record with members that the save changed.
  final func refresh(from row: Row, isNew: Bool, relinked: Set<RelationshipDescription>) {
    storage.noteExisting(row.id)
    if let object = storage.registry.object(for: row.id) {
      object.advanceLists(to: row.version, except: relinked)
      if let record = object.pending {
        let (below, parents) = (throughParents(row), parentEdits(of: record.id))
        let combined = mergePolicy.combinedSlots(of: record.entity)
        storage.touch(record.id)
        let confirmed = storage.withPending {
          storage.noteMove(of: record, to: below, relinked: relinked)
          return storage.forgettingConfirmedMoves(of: record) {
            record.refresh(from: below, stored: row, below: parents, combining: combined)
          }
        }
        for list in confirmed { storage.invalidateLists(of: list) }
      } else if let formerRow = object.row {
        if formerRow.version < row.version {
          object.row = throughParents(row)
        } else if let unsaved = unsavedRow(after: formerRow, savedAs: row) {
          object.row = unsaved
        }
      } else {
        object.fill(with: throughParents(row))
      }
      isNew ? events.noteInserted(object) : events.noteRefreshed(object)
    } else if let record = bareDelete(of: row.id) {
      storage.touch(record.id)
      storage.withPending {
        storage.noteMove(of: record, to: row, relinked: relinked)
        record.refresh(from: row, stored: row, below: [], combining: SlotSet())
      }
    } else if isNew {
      events.noteInserted(object(for: throughParents(row)))
    }
  }

  /// The row that replaces an object's row after a save of a parent into its own parent. The record then has other
  /// values at an equal version. `nil` after a save into a store.
  private final func unsavedRow(after former: Row, savedAs row: Row) -> Row? {
    guard parent != nil, former.version == row.version, former.values != row.values,
      let inherited = inheritedRecord(of: row.id), !inherited.isDeleted, inherited.row.version == row.version
    else { return nil }
    return inherited.row
  }

  final func noteRefreshed(_ object: ManagedObject) { events.noteRefreshed(object) }

  /// The unsaved record of a delete without an object.
  private final func bareDelete(of id: ManagedObjectID) -> PendingRecord? {
    guard storage.unsaved.hasBareDeletes, let record = storage.record(for: id), record.isBareDelete else { return nil }
    return record
  }

  /// Removes the object of a record from the context after another writer has deleted the record. An object with
  /// unsaved changes of the context or of a parent stays.
  final func removeDeletedElsewhere(_ id: ManagedObjectID) {
    if let record = bareDelete(of: id) {
      storage.untrack(record)
      record.isSilent = true
    }
    guard let object = storage.registry.object(for: id) else { return }
    // The save of the unsaved changes reports the conflict, or writes no value of the record.
    if let record = object.pending, record.kind != .deleted, !record.isUnchanged {
      storage.vanished.edited.insert(id)
      return forgetLinks(of: object)
    }
    // A fetch finds the record with the edits of the parent, whose save reports the conflict.
    if object.pending?.kind != .deleted, inheritedRecord(of: id)?.isDeleted == false { return forgetLinks(of: object) }
    object.pending?.isDeletedElsewhere = true
    // The rules of this context's own delete would read the relationships of a detached object.
    storage.pendingRules.objects.remove(object)
    detachDeleted(object)
    events.noteDeleted(object)
  }

  /// Has the children, and their children, read records again that another writer has deleted. The children have kept the
  /// objects of these records for the edits of this context, which it has dropped.
  final func rereadInChildren(_ deletedIDs: some Collection<ManagedObjectID>) {
    guard !deletedIDs.isEmpty else { return }
    var changes = ChangeSet()
    changes.refreshed = Array(deletedIDs)
    for child in children { child.mergeChanges(fromContextDidSave: changes) }
  }

  /// Invalidates the lists of links of an object that stays for the unsaved edits of this context or of a parent, after
  /// another writer has deleted the record together with its links. A save that restores the record restores no link. An
  /// ordered list belongs to a version of the record.
  private final func forgetLinks(of object: ManagedObject) {
    let lists = object.entity.relationships.filter { relationship in
      relationship.isLinked && !relationship.isOrdered
        && (object.collections?[relationship] != nil || object.pending?.members[relationship] != nil)
    }
    guard !lists.isEmpty else { return }
    for relationship in lists { storage.invalidateLists(of: relationship) }
    storage.touch(object.recordID)
    noteRefreshed(object)
  }

  /// Passes waiting changes on to the children at a reset. The children get the permanent identifiers in them from this
  /// context alone. Reads no store, because the context has no objects and no unsaved records.
  final func passOn(_ content: Inbox.Content) {
    guard isParent else { return }
    switch content {
    case .nothing: break
    case .changes(let list, _): applyPermanentIDs(from: list)
    case .everything(let overflow): passOn(applyingPermanentIDs(of: overflow))
    }
  }

  /// Gives objects the permanent identifiers of their records, which another context has saved or a parent has
  /// obtained, and passes the identifiers on to the children.
  ///
  /// - Parameter list: The changes that name the identifiers.
  private final func applyPermanentIDs(from list: [ChangeSet]) {
    let permanentIDs = list.reduce(into: [ManagedObjectID: ManagedObjectID]()) { $0.merge($1.permanentIDs) { $1 } }
    guard !permanentIDs.isEmpty else { return }
    dropFormerIDs()
    let referring = replaceIdentifiers(permanentIDs)
    guard isParent else { return }
    var changes = ChangeSet()
    changes.permanentIDs = permanentIDs
    changes.refreshed = referring + list.flatMap { $0.insertedIDs + $0.updatedIDs }
    // The saver has not posted these changes to children of its children; see `propagate(_:passesParents:)`.
    for saved in list where !saved.permanentIDs.isEmpty {
      changes.deleted += saved.deleted
      changes.relinked.merge(saved.relinked) { $0.union($1) }
    }
    for child in children { child.postToInbox(changes) }
  }

  /// Gives objects and references the permanent identifiers of records. Returns the records that referred to a former
  /// identifier.
  @discardableResult
  final func replaceIdentifiers(_ permanentIDs: [ManagedObjectID: ManagedObjectID]) -> [ManagedObjectID] {
    guard !permanentIDs.isEmpty else { return [] }
    let isParent = isParent
    var renamed: [(object: ManagedObject, id: ManagedObjectID)] = []
    for (former, permanent) in permanentIDs {
      let isExposed = !storage.exposedTemporaryIDs.isEmpty && storage.exposedTemporaryIDs.remove(former) != nil
      if let object = storage.registry.object(for: former) {
        // The context had no object yet when the user got the identifier.
        if isExposed { object.flags.insert(.temporaryIDExposed) }
        renamed.append((object, permanent))
      } else if isParent || !former.isTemporaryID || isExposed {
        storage.withPending { storage.formerIDs.note(permanent, of: former, isExposed: isExposed) }
      }
    }
    // Of the objects of inserted records that became one record, the object of the earliest record stays.
    renamed.sort { ManagedObjectID.precedes($0.object.recordID, $1.object.recordID) }
    for (object, id) in renamed { rename(object, to: id) }
    return replaceReferences(permanentIDs)
  }

  /// Posts new permanent identifiers of unsaved records to the children.
  ///
  /// - Parameter referring: The records that may refer to these records. A child may have read rows of them with the
  ///   former identifiers, and reads them again.
  final func postToChildren(_ permanentIDs: [ManagedObjectID: ManagedObjectID], referring: [ManagedObjectID]) {
    var changes = ChangeSet()
    changes.permanentIDs = permanentIDs
    changes.refreshed = referring
    for child in children { child.postToInbox(changes) }
  }

  /// Replaces identifiers in all unsaved records. Returns the records that referred to a former identifier.
  private final func replaceReferences(_ permanentIDs: [ManagedObjectID: ManagedObjectID]) -> [ManagedObjectID] {
    defer {
      touchOwners()
      storage.invalidateAllLists()
    }
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
    // Delete rules change the other side only. An undo or a child's edit may revert the delete.
    let deleted = storage.unsaved.hasDeletes ? storage.records.filter { $0.kind == .deleted && !$0.isBareDelete } : []
    return replaceReferences(permanentIDs, in: renamed + partners + deleted)
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
    let isExposed = object.flags.contains(.temporaryIDExposed)
    if isParent || !former.isTemporaryID || isExposed {
      storage.withPending { storage.formerIDs.note(id, of: former, isExposed: isExposed) }
    }
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
