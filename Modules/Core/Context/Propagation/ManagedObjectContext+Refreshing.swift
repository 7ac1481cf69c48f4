// Refreshing on request, from the stores or the parent.

extension ManagedObjectContext {
  /// Refreshes an object from the store, or from the parent, and clears its reported failures.
  ///
  /// An object without changes becomes a fault, without a read. With `mergeChanges` the record of a changed object is
  /// read at once; if the store fails, the object keeps its former state. An inserted object keeps its values. The
  /// refresh of a deleted object without `mergeChanges` reverts the delete, and reads the related records whose
  /// references the delete rules have cleared; records that a cascade has deleted stay deleted. The ``undoHistory``
  /// records the dropped changes, so that an undo brings them back. To be called inside the context.
  ///
  /// - Precondition: The object belongs to this context.
  /// - Parameter mergeChanges: Whether the object's own changes stay, on top of the refreshed state, where they no
  ///   longer conflict with earlier saves of other writers. Otherwise the changes are dropped and the object becomes a
  ///   fault.
  public final func refresh(_ object: ManagedObject, mergeChanges: Bool) {
    operating {
      Misuse.check(object.storage === storage, wrongContextMessage(object))
      lease.end()
      let revertsDelete = !mergeChanges && object.pending?.kind == .deleted && object.pending?.base != nil
      turningIntoFaults(object.pending == nil || !mergeChanges ? [object] : []) {
        refreshState(of: object, mergeChanges: mergeChanges)
      }
      // Without its related records, which the store fails to return, the object stays unrelated.
      if revertsDelete { try? reconnect(object) }
      awakenLoaded()
    }
  }

  /// Drops the loaded state of an object, and rebases or drops its changes.
  private final func refreshState(of object: ManagedObject, mergeChanges: Bool) {
    let wasMissing = object.flags.contains(.missing)
    object.flags.subtract([.unavailable, .missing])
    storage.reports.remove(object.recordID)
    // The lists may have had other members than the lists that the next read loads.
    if object.collections != nil { storage.touch(object.recordID) }
    object.collections = nil
    dropUnchanged([object.pending].compactMap { $0 })
    guard let record = object.pending else {
      object.row = nil
      storage.touch(object.recordID)
      guard wasMissing else { return }
      storage.vanished.missing.insert(object.recordID)
      return removeMissingObjects()
    }
    if mergeChanges {
      if record.kind == .deleted { storage.withPending { storage.noteLinks(ofDeleted: record) } }
      let former = record.base
      reread([record]) { record, row in record.rebase(onto: row) }
      if record.base?.version != former?.version || record.base?.values != former?.values { noteRefreshed(object) }
      storage.withPending { record.acceptBase() }
      releasePartners(of: record)
      return removeMissingObjects()
    }
    // A record that no store has stays inserted, or deleted.
    guard record.base != nil else { return }
    if storage.recordsUndo { recordUndo(ofRefreshing: object, record) }
    revertRelationships(of: object, record)
    if record.kind == .deleted { storage.pendingRules.objects.remove(object) }
    storage.untrack(record)
    object.row = nil
    object.keepExposedID()
    record.isSilent = true
    noteRefreshed(object)
    if storage.vanished.edited.contains(object.recordID) { rereadInChildren([object.recordID]) }
  }

  /// Records that a refresh drops the attribute edits of an object, or reverts its delete. The reverts of relationships
  /// are recorded as changes.
  private final func recordUndo(ofRefreshing object: ManagedObject, _ record: PendingRecord) {
    if record.kind == .deleted { storage.undo?.recordRevert(ofDeleting: object) }
    for slot in record.changed {
      guard case .attribute = object.entity.slots[slot] else { continue }
      object.recordUndo(of: slot, before: record[slot])
    }
  }

  /// Reads the present rows of changed records from the stores or the parent, with one read for each store. Records of
  /// detached stores keep their state.
  ///
  /// - Parameter put: Places a row below the changes of its record. Called under the lock, for rows whose version
  ///   differs from the record's base.
  private final func reread(_ records: [PendingRecord], put: (PendingRecord, Row) -> Void) {
    let savedRecords = readable(records.filter { $0.base != nil }) { $0.id }
    guard !savedRecords.isEmpty else { return }
    guard let rows = try? loadRows(savedRecords.map(\.id)) else {
      // Other writers may have moved any of the records.
      return storage.withPending { storage.noteDeletedInLists() }
    }
    let rowsByID = Dictionary(rows.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    if lease.pins == 0 { noteDeletedElsewhere(savedRecords.lazy.map(\.id).filter { rowsByID[$0] == nil }) }
    // A child may read the unsaved record of a parent.
    if parent == nil { for row in rows { storage.noteExisting(row.id) } }
    var confirmed: Set<RelationshipDescription> = []
    storage.withPending {
      for record in savedRecords {
        // Unsaved edits of a parent leave the version as it is.
        guard let row = rowsByID[record.id], let base = record.base,
          row.version != base.version || (parent != nil && row.values != base.values)
        else { continue }
        storage.touch(record.id)
        storage.noteMove(of: record, to: row, relinked: [])
        confirmed.formUnion(storage.forgettingConfirmedMoves(of: record) { put(record, row) })
      }
    }
    for list in confirmed { storage.invalidateLists(of: list) }
  }

  /// Has the next call of ``removeMissingObjects()`` note edited records that another writer has deleted.
  ///
  /// A record that a parent has deleted is left out, because the parent may roll back.
  private final func noteDeletedElsewhere(_ ids: some Sequence<ManagedObjectID>) {
    for id in ids where !id.isTemporaryID && isUnchangedInParents(id) { storage.vanished.missing.insert(id) }
  }

  /// Clears the references of partners in one-to-one relationships that another writer has given to a record, and that
  /// the record's own edits replace. Without a conflict, no merge policy clears them at the save. The undo history does
  /// not record the changes, because the user has not made them.
  private final func releasePartners(of record: PendingRecord) {
    guard record.kind == .updated, let object = record.object, let base = record.base else { return }
    for relationship in record.entity.relationships {
      guard let slot = relationship.slot, let inverse = relationship.inverse, inverse.slot != nil,
        record.changed.contains(slot), case .reference(let id) = base[slot],
        let partner = try? object.presentMember(id, of: relationship)
      else { continue }
      // The context may not have processed the save that has given the partner to the record.
      if partner.pending == nil, let row = try? committedRow(id), partner.row.map({ $0.version < row.version }) ?? true
      {
        // The read has returned no list of the partner, so that each list may have changed.
        refresh(from: row, isNew: false, relinked: Set(row.entity.relationships.filter(\.isToMany)))
      }
      withoutUndo { try? partner.removeRelated(object, of: inverse) }
    }
  }

  /// Refreshes changed records whose new rows were not part of the posted changes.
  final func refreshRows(of records: [PendingRecord]) {
    var parents: [ManagedObjectID: [ParentEdits]] = [:]
    if parent != nil { for record in records { parents[record.id] = parentEdits(of: record.id) } }
    let policy = mergePolicy
    reread(records) { record, row in
      // A row read from a parent with edits does not show the values of the store.
      let edits = parents[record.id] ?? []
      record.refresh(
        from: row, stored: edits.isEmpty ? row : nil, below: edits,
        combining: policy.combinedSlots(of: record.entity))
    }
  }

  /// Reverts relationships together with their inverses, so that the objects on the other side drop the change too.
  private final func revertRelationships(of object: ManagedObject, _ record: PendingRecord) {
    guard record.kind == .updated, let base = record.base else { return }
    for relationship in object.entity.relationships {
      if let slot = relationship.slot, record.changed.contains(slot) {
        var former: ManagedObject?
        if case .reference(let id) = base[slot] { former = try? object.member(id, of: relationship) }
        try? object.setTarget(former, of: relationship)
      } else if let changes = record.members[relationship], !changes.isEmpty {
        revert(changes, of: relationship, object)
      }
    }
  }

  /// Reverts unsaved changes of members. If the list below the changes cannot be read, the changed members alone are
  /// reverted: with an empty list in its place, all other members would leave their owner.
  private final func revert(
    _ changes: MemberChanges, of relationship: RelationshipDescription, _ object: ManagedObject
  ) {
    do {
      let ids = try object.memberList(of: relationship).ids
      try object.replaceMembers(
        of: relationship, with: try ids.compactMap { try object.presentMember($0, of: relationship) })
    } catch {
      // The context has the objects of all changed members.
      for member in changes.added.compactMap({ storage.registry.object(for: $0) }) {
        try? object.removeMember(member, from: relationship)
      }
      for member in changes.removed.compactMap({ storage.registry.object(for: $0) }) {
        try? object.insertMember(member, into: relationship)
      }
    }
  }

  /// Refreshes every object from the stores. Clean objects become faults. Changed objects keep their changes, which no
  /// longer conflict with earlier saves of other writers.
  ///
  /// Clears ``reportedErrors``, and processes the inbox unless a snapshot is pinned. The cost is one pass over the
  /// registered objects, and one read of each store for the changed records. The next notification of changed objects
  /// reports that everything may have changed.
  public final func refreshAll() {
    operating {
      if !lease.isPinned { processInbox() }
      lease.end()
      dropUnchanged(storage.records)
      storage.withPending { storage.noteLinksOfDeleted() }
      let objects = storage.registry.all
      touchHiddenEdits(of: objects)
      turningIntoFaults(objects.lazy.filter { $0.pending == nil }) {
        for object in objects { forgetState(of: object) }
      }
      let records = storage.records
      reread(records) { record, row in record.rebase(onto: row) }
      storage.withPending { for record in records { record.acceptBase() } }
      for record in records { releasePartners(of: record) }
      removeMissingObjects()
      awakenLoaded()
      storage.reports.removeAll()
      storage.retainedReads.invalidateLists()
      storage.touchEverything()
      events.noteEverything()
    }
  }

  /// Stops tracking records whose changes were set back or undone, so that their objects are clean.
  private final func dropUnchanged(_ records: [PendingRecord]) {
    for record in records where record.isUnchanged {
      let object = record.object
      storage.untrack(record)
      object?.keepExposedID()
    }
  }

  /// Turns an object into a fault. Its changes stay.
  private final func forgetState(of object: ManagedObject) {
    if object.pending == nil, object.flags.contains(.missing) { storage.vanished.missing.insert(object.recordID) }
    object.flags.subtract([.unavailable, .missing])
    object.collections = nil
    if object.pending == nil { object.row = nil }
  }
}
