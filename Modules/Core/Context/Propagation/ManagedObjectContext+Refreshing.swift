import Dispatch
public import Foundation

// Going back to the saved state, and forward to the saves of others.

extension ManagedObjectContext {
  /// Brings an object up to date with the store, or with the parent.
  ///
  /// - Parameter mergeChanges: Whether the object's own changes are kept on top of the fresh state, so that they are no
  ///   conflict any more with what others saved before; otherwise they are dropped and the object becomes a fault.
  public final func refresh(_ object: ManagedObject, mergeChanges: Bool) {
    operating {
      Misuse.check(object.storage === storage, misfit(object))
      lease.end()
      let wasMissing = object.flags.contains(.missing)
      object.flags.subtract([.unavailable, .missing])
      storage.reports.remove(object.id)
      object.collections = nil
      guard let record = object.pending else {
        object.row = nil
        guard wasMissing else { return }
        storage.missing.insert(object.id)
        return takeOutMissing()
      }
      if mergeChanges {
        reread([record]) { record, row in record.rebase(onto: row) }
        return storage.withPending { record.acceptBase() }
      }
      guard record.kind != .inserted else { return }
      revertRelationships(of: object, record)
      storage.undelivered.removeAll { $0 === object }
      storage.forget(record)
      object.row = nil
      record.isSilent = true
      changedElsewhere(object)
    }
  }

  /// Reads what is below the context now of changed records, with one read for each store.
  ///
  /// - Parameter put: Puts a row below the changes of its record. Called under the lock, for rows of other versions
  ///   than those that the changes are on.
  private final func reread(_ records: [PendingRecord], put: (PendingRecord, Row) -> Void) {
    let based = records.filter { $0.base != nil }
    guard !based.isEmpty, let rows = try? loadRows(based.map(\.id)) else { return }
    let fresh = Dictionary(rows.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    storage.withPending {
      for record in based {
        guard let row = fresh[record.id], row.version != record.base?.version else { continue }
        put(record, row)
      }
    }
  }

  /// Takes in what others saved of changed records, whose rows did not come along.
  private final func takeInRows(of records: [PendingRecord]) {
    var inherited: [ManagedObjectID: SlotSet] = [:]
    if parent != nil { for record in records { inherited[record.id] = slotsEditedByParents(of: record.id) } }
    reread(records) { record, row in record.takeIn(row, besides: inherited[record.id] ?? SlotSet()) }
  }

  /// Sets to-one relationships back through their inverses, so that the other side forgets the change too.
  private final func revertRelationships(of object: ManagedObject, _ record: PendingRecord) {
    guard record.kind == .updated, let base = record.base else { return }
    for relationship in object.entity.relationships {
      if let slot = relationship.slot, record.changed.contains(slot) {
        var former: ManagedObject?
        if case .reference(let id) = base[slot] { former = try? object.member(id, of: relationship) }
        try? object.setTarget(former, of: relationship)
      } else if let changes = record.members[relationship], !changes.isEmpty {
        let members = (try? object.memberList(of: relationship).ids) ?? []
        try? object.replaceMembers(
          of: relationship, with: members.compactMap { try? object.member($0, of: relationship) })
      }
    }
  }

  /// Brings every object up to date with the stores: clean ones become faults, changed ones keep their changes, which
  /// are no conflict any more with what others saved before.
  public final func refreshAll() {
    operating {
      if !lease.isPinned { drainInbox() }
      lease.end()
      let objects = storage.registry.all
      for object in objects { forgetState(of: object) }
      let records = objects.compactMap(\.pending)
      reread(records) { record, row in record.rebase(onto: row) }
      storage.withPending { for record in records { record.acceptBase() } }
      takeOutMissing()
      storage.reports.removeAll()
      storage.kept.outdateLists()
      events.noteEverything()
    }
  }

  /// Makes a fault of an object, whose changes stay.
  private final func forgetState(of object: ManagedObject) {
    if object.pending == nil, object.flags.contains(.missing) { storage.missing.insert(object.id) }
    object.flags.subtract([.unavailable, .missing])
    object.collections = nil
    if object.pending == nil { object.row = nil }
  }

  /// Drops all changes. Inserted objects are forgotten, changed and deleted ones return to their saved state.
  public final func rollback() {
    operating {
      var inserted: [ManagedObject] = []
      var others: [ManagedObject] = []
      for record in storage.records {
        guard let object = record.object else { continue }
        if record.base == nil, isUnknownBelow(record.id) { inserted.append(object) } else { others.append(object) }
      }
      storage.forgetAll()
      storage.reports.removeAll()
      for object in inserted {
        object.flags.insert(.gone)
        object.collections = nil
        storage.unregister(object)
      }
      for object in others {
        object.collections = nil
        object.row = nil
        changedElsewhere(object)
      }
      for object in storage.registry.all {
        object.collections = nil
        object.flags.remove(.unavailable)
      }
    }
  }

  /// Forgets all objects. Objects still in use belong to no context any more.
  public final func reset() {
    operating {
      // News in the middle of a snapshot is of a later state, which objects read afterwards may not have.
      if !lease.isPinned { _ = inbox.drain() }
      lease.end()
      let objects = storage.registry.all
      storage.forgetAll()
      storage.registry.removeAll()
      storage.kept.removeAll()
      storage.groups.removeAll()
      storage.reports.removeAll()
      storage.missing = []
      storage.permanentIDs = [:]
      for object in objects {
        object.flags.insert(.gone)
        object.collections = nil
      }
    }
  }
}

// MARK: - What others saved

extension ManagedObjectContext {
  /// Takes in what another context saved: posts it to the inbox and returns at once. It is taken in on the context's
  /// own executor, and at the latest when somebody next enters the context. The context's own changes are kept, on top
  /// of the newer state. A property that is changed on both sides is a conflict when this context saves: its
  /// ``mergePolicy`` decides, and changes of different properties are merged. Two ways to settle such a conflict before
  /// are ``refresh(_:mergeChanges:)`` and ``rollback()``.
  ///
  /// May be called from anywhere.
  public final func mergeChanges(fromContextDidSave changes: ChangeSet) {
    guard inbox.post(changes), !storage.confinement.isOfThread else { return }
    storage.confinement.submit { [storage] in storage.context?.inside {} }
  }

  /// Takes in the changes of a notification of `Notification.Name.managedObjectContextDidSave`; see
  /// ``mergeChanges(fromContextDidSave:)-(ChangeSet)``. Any other notification is passed over.
  public final func mergeChanges(fromContextDidSave notification: Notification) {
    guard let changes = notification.userInfo?[NotificationKey.changes] as? ChangeSet else { return }
    mergeChanges(fromContextDidSave: changes)
  }

  /// A context used without `perform`, on the main actor or on its thread, takes in the saves of others when it is
  /// asked for objects.
  @inline(__always) final func takeInIfMain() {
    if storage.confinement.isUsedDirectly, !lease.isPinned { takeInDirectly() }
  }

  private final func takeInDirectly() {
    // Changes of others would move records of the running save onto other rows.
    if storage.isCallingPolicy { return }
    // The thread has no turns: a fetch begins another unit of work.
    if storage.confinement.isOfThread, !storage.kept.isEmpty { storage.kept.removeAll() }
    guard !inbox.isEmpty || !storage.missing.isEmpty else { return }
    drainInbox()
    announceChanges()
  }

  final func drainInbox() {
    switch inbox.drain() {
    case .nothing: break
    case .changes(let list, _):
      lease.end()
      adopt(list.reduce(into: [:]) { $0.merge($1.permanentIDs) { $1 } })
      for changes in list { takeIn(changes) }
      forgetMembers(Set(list.flatMap(\.deleted)))
    case .everything(let overflow):
      lease.end()
      adopt(overflow.permanentIDs)
      let gone = overflow.deleted ?? goneElsewhere()
      for id in gone { removeDeletedElsewhere(id) }
      forgetMembers(gone)
      let objects = storage.registry.all
      for object in objects {
        object.collections = nil
        if object.pending == nil { object.row = nil }
      }
      takeInRows(of: objects.compactMap(\.pending))
      events.noteEverything()
    }
    takeOutMissing()
  }

  /// The identifiers of this context's objects without a record in any store. Used when too many records were deleted
  /// to be named one by one; objects of a failing store stay, as faults.
  private final func goneElsewhere() -> Set<ManagedObjectID> {
    let ids = Set(storage.registry.all.map(\.id).filter { !$0.isTemporaryID })
    guard let present = try? loadRows(Array(ids)) else { return [] }
    return ids.subtracting(present.map(\.id))
  }

  private final func takeIn(_ changes: ChangeSet) {
    var outdated: Set<RelationshipDescription> = []
    for row in changes.inserted {
      outdated.formUnion(row.entity.listsDerivedFromRows)
      takeIn(row, isNew: true, relinked: [])
    }
    for row in changes.updated {
      outdated.formUnion(row.entity.listsDerivedFromRows)
      takeIn(row, isNew: false, relinked: changes.relinked[row.id] ?? [])
    }
    takeInRows(of: changes.refreshed.compactMap { storage.registry.object(for: $0)?.pending })
    for id in changes.refreshed {
      outdated.formUnion(id.entity.hierarchy.flatMap(\.listsDerivedFromRows))
      guard let object = storage.registry.object(for: id) else { continue }
      if let record = object.pending {
        // A batch update writes attributes only, and raises the version by one.
        object.carryLists(to: record.base?.version ?? 0)
      } else {
        object.row = nil
      }
      changedElsewhere(object)
    }
    for id in changes.deleted {
      outdated.formUnion(id.entity.hierarchy.flatMap(\.listsDerivedFromRows))
      removeDeletedElsewhere(id)
    }
    outdateLists(of: changes.deleted, withoutInverse: true)
    for (owner, relationships) in changes.relinked {
      outdated.formUnion(relationships)
      if let object = storage.registry.object(for: owner) { changedElsewhere(object) }
    }
    for relationship in outdated { storage.outdateLists(of: relationship) }
  }

  /// - Parameter relinked: The relationships of the record whose members the save changed.
  private final func takeIn(_ row: Row, isNew: Bool, relinked: Set<RelationshipDescription>) {
    if let object = storage.registry.object(for: row.id) {
      object.carryLists(to: row.version, except: relinked)
      if let record = object.pending {
        let inherited = slotsEditedByParents(of: record.id)
        storage.withPending { record.takeIn(row, besides: inherited) }
      } else if object.row.map({ $0.version < row.version }) != false {
        object.row = row
      }
      isNew ? events.noteInserted(object) : events.noteRefreshed(object)
    } else if isNew {
      events.noteInserted(object(for: row))
    }
  }

  final func changedElsewhere(_ object: ManagedObject) { events.noteRefreshed(object) }

  final func removeDeletedElsewhere(_ id: ManagedObjectID) {
    guard let object = storage.registry.object(for: id) else { return }
    // A record with changes of our own stays: its save will report the conflict.
    if let record = object.pending, record.kind != .deleted, !record.isVoid { return }
    forgetDeleted(object)
    events.noteDeleted(object)
  }

  /// Gives objects the permanent identifiers that another context's save gave their records.
  private final func adopt(_ permanentIDs: [ManagedObjectID: ManagedObjectID]) {
    guard !permanentIDs.isEmpty else { return }
    let isParent = isParent
    for (temporary, permanent) in permanentIDs {
      if let object = storage.registry.object(for: temporary) {
        rename(object, to: permanent)
      } else if isParent {
        storage.permanentIDs[temporary] = permanent
      }
    }
    replaceReferences(permanentIDs)
    if isParent { tellChildren(of: permanentIDs) }
  }

  /// Posts to the children the permanent identifiers that records got before they were saved.
  final func tellChildren(of permanentIDs: [ManagedObjectID: ManagedObjectID]) {
    var changes = ChangeSet()
    changes.permanentIDs = permanentIDs
    for child in children { child.mergeChanges(fromContextDidSave: changes) }
  }

  /// Replaces identifiers in all unsaved records.
  private final func replaceReferences(_ permanentIDs: [ManagedObjectID: ManagedObjectID]) {
    replaceReferences(permanentIDs, in: storage.records)
    storage.outdateAllLists()
  }

  /// Replaces identifiers of this context's fresh records in all unsaved records.
  final func replaceReferences(_ permanentIDs: [ManagedObjectID: ManagedObjectID], of renamed: [PendingRecord]) {
    let roots = Set(renamed.map { ObjectIdentifier($0.entity.root) })
    // Both sides of a relationship name each other; without an inverse, nothing shows which records name a record.
    if persistentStoreCoordinator?.managedObjectModel.isNamedWithoutInverse(roots) != false {
      return replaceReferences(permanentIDs)
    }
    let partners = renamed.flatMap(\.partners).compactMap { storage.record(for: permanentIDs[$0] ?? $0) }
    replaceReferences(permanentIDs, in: renamed + partners)
  }

  private final func replaceReferences(
    _ permanentIDs: [ManagedObjectID: ManagedObjectID], in records: [PendingRecord]
  ) {
    storage.withPending {
      for record in records {
        for slot in record.entity.referenceSlots {
          guard case .reference(let id) = record[slot], let permanent = permanentIDs[id] else { continue }
          record.replace(.reference(permanent), at: slot)
        }
        guard record.hasMembers else { continue }
        record.members = record.members.mapValues { $0.mapped { permanentIDs[$0] ?? $0 } }
        for list in (record.object?.collections ?? [:]).values { list.effective = nil }
      }
    }
  }

  /// Gives an object another identifier.
  final func rename(_ object: ManagedObject, to id: ManagedObjectID) {
    let former = object.id
    if isParent || object.flags.contains(.temporaryIDExposed) { storage.permanentIDs[former] = id }
    if let record = object.pending, record.isCurrent { storage.rename(record, to: id) }
    storage.registry.move([ObjectRegistry.Move(object, to: id)])
  }
}

extension EntityDescription {
  /// The to-many relationships whose members are found by a column of this entity's rows.
  var listsDerivedFromRows: [RelationshipDescription] {
    relationships.compactMap { relationship in
      guard !relationship.isToMany, let inverse = relationship.inverse, inverse.isToMany else { return nil }
      return inverse
    }
  }
}
