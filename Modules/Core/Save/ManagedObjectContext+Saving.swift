import Foundation

extension ManagedObjectContext {
  /// Saves all changes: into the stores, or into the parent context.
  ///
  /// A save into a store is one transaction and durable when `save` returns, as the store's options say. A save over
  /// several stores is atomic for each. A save into a parent is in memory until the parent saves, unless
  /// ``savesThroughParent`` is set.
  ///
  /// After a failure the context is as it was before the call, so that the cause can be mended and the save repeated;
  /// only objects of stores that did commit are clean.
  ///
  /// - Throws: In this order: ``ErrorCode/objectUnavailable`` when an accessor lost a change, or the save depends on an
  ///   object that could not be loaded; ``ErrorCode/validationFailed`` with all failures, ``ErrorCode/deleteDenied``,
  ///   ``ErrorCode/versionConflict`` with all conflicts (unless the merge policy resolves them),
  ///   ``ErrorCode/uniquenessViolated`` and ``ErrorCode/danglingReference``, then errors of the store.
  ///   ``ErrorCode/partialSave`` when one of several stores failed after another had committed.
  public final func save() throws {
    try operating {
      var saved = ContextActivity.save(inserted: 0, updated: 0, deleted: 0)
      try measured(StackOperation(.save, target), ifFailed: saved) {
        try saveChanges(&saved)
      } as: { _ in
        saved
      }
    }
  }

  /// The target of a save, in reports to observers.
  private final var target: String { parent == nil || savesThroughParent ? "stores" : "parent" }

  /// - Parameter saved: Is set to the numbers of unsaved records.
  private final func saveChanges(_ saved: inout ContextActivity) throws {
    takeInIfMain()
    try prepareSave()
    if isObserved { saved = pendingSave }
    guard storage.hasChanges else { return dropVoidRecords() }
    if Task.isCancelled { throw CoherenceError(.cancelled, "The task was cancelled before the save began.") }
    if let parent, !savesThroughParent { return try save(into: parent) }
    try saveIntoStores()
  }

  private final func dropVoidRecords() {
    for record in storage.records {
      if let object = record.object, object.row == nil { object.row = record.base }
      storage.forget(record)
    }
  }

  // MARK: Into stores

  private final func saveIntoStores() throws {
    let coordinator = try coordinator()
    defer { lease.endOffers() }
    let saver = try StoreSaver(context: self, coordinator: coordinator)
    // Links were read in a state of their own, which ends before the store needs a connection to save.
    lease.offerForSave()
    var changes = ChangeSet()
    var listed = coordinator.entityChangeFeed.isObserved ? EntityChangeList() : nil
    let result = saver.run { unit, committed in
      listed?.add(unit)
      self.publish(unit, committed, into: &changes)
    }
    lease.endOffers()
    coordinator.saves.rise()
    if !changes.isEmpty { spread(changes) }
    // Last: the followers have the changes when a reader of a stream looks.
    if let listed { coordinator.entityChangeFeed.post(listed) }
    try result.get()
    storage.reports.removeAll()
  }

  /// Posts a save to parents, children, followers and observers.
  final func spread(_ changes: ChangeSet) {
    var ancestor = savesThroughParent ? parent : nil
    while let context = ancestor {
      context.mergeChanges(fromContextDidSave: changes)
      ancestor = context.parent
    }
    for listener in listeners { listener.mergeChanges(fromContextDidSave: changes) }
    events.saves.send { changes }
    NotificationCenter.default.post(
      name: .managedObjectContextDidSave, object: self, userInfo: [NotificationKey.changes: changes])
  }

  /// Makes the objects of a committed unit clean.
  private final func publish(_ unit: UnitOfWork, _ committed: CommittedRows, into changes: inout ChangeSet) {
    for group in unit.inserts.groups {
      // One group, which is most saves, shares its array.
      changes.inserted = changes.inserted.isEmpty ? group.rows : changes.inserted + group.rows
      if let id = group.rows.first?.id {
        id.space.rows.reserve(group.rows.count)
        storage.registry.reserve(group.rows.count, beside: id)
      }
      settle(group.changes, writing: group.rows, committed, into: &changes)
    }
    let updated = unit.updates.compactMap { $0.isWritten ? $0.row : nil }
    changes.updated += updated
    settle(unit.updates, writing: updated, committed, into: &changes)
    storage.forget(unit.kept)
    for change in unit.deletes.all {
      changes.deleted.append(change.id)
      if let object = change.record.object { forgetDeleted(object) } else { storage.forget(change.record) }
    }
    let deleted = unit.deletes.all
    if !deleted.isEmpty { outdateLists(of: deleted.map(\.id), withoutInverse: true) }
    for surrender in committed.surrendered { surrenderChanges(surrender) }
    for relationship in committed.mergedLists { outdateBothSides(of: relationship) }
    changes.relinked.merge(unit.links.owners) { $0.union($1) }
  }

  /// Makes the objects of committed changes clean, some at a time: what one step touched is still in the processor's
  /// caches for the next.
  ///
  /// - Parameter rows: What the changes wrote, in the same order.
  private final func settle(
    _ saved: [RecordChange], writing rows: [Row], _ committed: CommittedRows, into changes: inout ChangeSet
  ) {
    let some = 256
    let isParent = isParent
    for start in stride(from: 0, to: saved.count, by: some) {
      if start < rows.count { Row.enter(rows[start..<min(start + some, rows.count)]) }
      let part = saved[start..<min(start + some, saved.count)]
      var moves: [ObjectRegistry.Move] = []
      for change in part {
        guard let object = change.object else { continue }
        becomeClean(object, change, permanentIDs: committed.permanentIDs)
        guard object.id != change.id else { continue }
        let former = object.id
        if isParent || object.flags.contains(.temporaryIDExposed) { storage.permanentIDs[former] = change.id }
        moves.append(ObjectRegistry.Move(object, to: change.id))
        if isParent || object.flags.contains(.temporaryIDExposed) { changes.permanentIDs[former] = change.id }
      }
      storage.registry.move(moves)
      for change in part { change.retire() }
    }
  }

  private final func becomeClean(
    _ object: ManagedObject, _ change: RecordChange, permanentIDs: PermanentIDs
  ) {
    if object.collections != nil {
      if change.base?.version == change.record.base?.version {
        // The changed lists first, which are still found by the former version.
        if change.hasMembers {
          keepMembers(of: object, change.record, version: change.row?.version, permanentIDs)
        }
        if let version = change.row?.version { object.carryLists(to: version) }
      } else {
        // A merge policy put the change on top of a newer row, whose lists were not read.
        object.collections = nil
      }
    }
    object.pending = nil
    object.row = change.row
  }

  /// Makes the members with the saved changes the lists that the store has.
  ///
  /// - Parameter version: The version of the written row.
  private final func keepMembers(
    of object: ManagedObject, _ record: PendingRecord, version: Int64?, _ permanentIDs: PermanentIDs
  ) {
    guard let lists = object.collections else { return }
    for relationship in record.members.keys where lists[relationship] != nil {
      guard let ids = try? object.memberIDs(of: relationship).map({ permanentIDs[$0] }) else { continue }
      object.setMemberList(
        relationship.isOrdered ? ids : ids.sorted(by: ManagedObjectID.precedes), of: relationship, version: version)
    }
  }

  private final func outdateBothSides(of relationship: RelationshipDescription) {
    storage.outdateLists(of: relationship)
    if let inverse = relationship.inverse, inverse.isToMany { storage.outdateLists(of: inverse) }
  }

  /// Gives up the changes of a record that a merge policy decided against.
  private final func surrenderChanges(_ surrender: CommittedRows.Surrender) {
    guard let object = surrender.record.object else { return storage.forget(surrender.record) }
    guard let row = surrender.storeRow else {
      forgetDeleted(object)
      events.noteDeleted(object)
      return
    }
    for relationship in surrender.record.members.keys { outdateBothSides(of: relationship) }
    storage.forget(surrender.record)
    object.row = row
    object.collections = nil
    changedElsewhere(object)
  }

  // MARK: Identifiers

  /// Gives inserted objects their permanent identifiers before they are saved.
  ///
  /// - Throws: ``ErrorCode/noStore``, ``ErrorCode/contextWithoutStore``, and errors of the store.
  public final func obtainPermanentIDs(for objects: [ManagedObject]) throws {
    try operating {
      let records = objects.compactMap { object in
        object.storage === storage && object.id.isTemporaryID ? object.pending : nil
      }
      lease.end()
      try KeyReservation(in: coordinator()).reserveKeys(for: records)
      var replaced: [ManagedObjectID: ManagedObjectID] = [:]
      for record in records {
        guard let object = record.object, let permanent = record.reservedID else { continue }
        replaced[record.id] = permanent
        rename(object, to: permanent)
      }
      replaceReferences(replaced, of: records)
      tellChildren(of: replaced)
    }
  }

  /// Chooses the store that an inserted object will be saved in.
  ///
  /// - Throws: ``ErrorCode/noStore`` when the store does not hold the entity, ``ErrorCode/storeDetached`` when it is
  ///   not attached, ``ErrorCode/illegalState`` when the object has its place already.
  public final func assign(_ object: ManagedObject, to store: any PersistentStore) throws {
    try operating {
      guard let record = object.pending, record.kind == .inserted, object.id.isTemporaryID else {
        throw CoherenceError(.illegalState, "Only an inserted object without a permanent identifier can be assigned.")
      }
      guard try coordinator().persistentStores.contains(where: { $0 === store }) else {
        throw CoherenceError(.storeDetached, "The store is not attached to the context's coordinator; attach it first.")
      }
      guard store.environment.entities.contains(where: { $0 === object.entity }) else {
        throw CoherenceError(.noStore, "The store does not hold '\(object.entity.name)'.")
      }
      record.assignedStore = store.identifier
      record.reservedID = nil
    }
  }
}
