// A save into a parent context, and the parent's side of a child's save.

extension ManagedObjectContext {
  /// Saves the changes into the parent, in memory.
  final func save(into parent: ManagedObjectContext) throws {
    let records = storage.records.filter { !$0.isUnchanged }.sorted { ManagedObjectID.precedes($0.id, $1.id) }
    // The parent reads the changed and deleted records over a connection of its own.
    lease.endForSave()
    parent.supersedeMainUnit()
    try enter(parent) {
      try parent.receive(records)
      parent.pendingSignals.formUnion(pendingSignals)
    }
    pendingSignals = []
    persistentStoreCoordinator?.countSave()
    var changes = ChangeSet()
    let saved = records.compactMap { $0.changesPositionsOnly ? nil : $0.object }
    for record in records { markClean(record, &changes) }
    storage.reports.removeAll()
    invalidateLists(of: changes.deleted, withoutInverse: true)
    propagate(changes, passesParents: savesThroughParent)
    callDidSave(of: saved)
  }

  /// Runs a block in the parent, in the middle of a save of this context. For a main-queue context, the wait for the
  /// parent runs no main-actor blocks of other threads, because they could change the context during its save.
  private final func enter(_ parent: ManagedObjectContext, _ body: () throws -> Void) throws {
    let confinement = parent.storage.confinement
    guard storage.confinement.isMain, !confinement.isUsedDirectly, !confinement.isEntered else {
      return try parent.performAndWait(body)
    }
    try confinement.owning(servesMain: false) { try parent.inside(body) }
  }

  /// Turns the changes of a child, which saves into this context, into changes of this context.
  private final func receive(_ records: [PendingRecord]) throws {
    // Changed and deleted records are loaded first, together, so that a failure leaves this context as it was.
    let bareDeletes = records.filter(needsNoObject)
    let bareRows = try loadRows(bareDeletes.map(\.id))
    try requireRows(bareRows, of: bareDeletes)
    let bareIDs = Set(bareDeletes.lazy.map(\.id))
    let records = bareDeletes.isEmpty ? records : records.filter { !bareIDs.contains($0.id) }
    let loaded = try loadMissing(records.filter { !isNew($0) }.map(\.id))
    defer {
      withExtendedLifetime(loaded) {}
      awakenLoaded()
    }
    var targets: [ManagedObjectID: ManagedObject] = [:]
    for record in records where !isNew(record) {
      let object = try fault(for: record.id, of: record.entity)
      try object.loadRow()
      if record.kind != .deleted, object.isDeleted { throw object.deletedError() }
      targets[record.id] = object
    }
    for record in records where isNew(record) { receiveInsert(record) }
    var neverSaved: Set<ManagedObjectID> = []
    for record in records {
      guard let object = targets[record.id] else { continue }
      record.kind == .deleted ? try receiveDelete(record, of: object) : try receiveUpdate(record, of: object)
      if object.flags.contains(.detached) { neverSaved.insert(object.recordID) }
    }
    try forgetNeverSaved(neverSaved)
    receiveBareDeletes(bareDeletes, bareRows)
  }

  /// Whether a child's delete of a record needs no object in this context: a bare delete.
  private final func needsNoObject(_ record: PendingRecord) -> Bool {
    record.kind == .deleted && !storage.recordsUndo && !record.entity.checked.hasDeletionHooks
      && storage.registry.object(for: record.id) == nil && storage.record(for: record.id) == nil
  }

  /// - Throws: ``ErrorCode/objectNotFound`` when one of the records has no row.
  private final func requireRows(_ rows: [Row], of records: [PendingRecord]) throws {
    guard rows.count < records.count else { return }
    let missing = Set(records.map(\.id)).subtracting(rows.map(\.id)).sorted(by: ManagedObjectID.precedes)
    guard let first = missing.first else { return }
    var error = CoherenceError(.objectNotFound, "The record of '\(first.entity.name)' does not exist any more.")
    error.objectIDs = missing
    throw error
  }

  /// Turns deletes of a child into deletes of this context, without objects.
  private final func receiveBareDeletes(_ records: [PendingRecord], _ rows: [Row]) {
    guard !records.isEmpty else { return }
    for row in rows { storage.trackBareDelete(of: row) }
    // The child has applied the delete rules, for which the tracking queues the records.
    storage.pendingRecordDeletes.removeLast(rows.count)
    storage.withPending {
      for record in records {
        guard let own = storage.recordUnderLock(for: record.id) else { continue }
        own.noteOvertaken(of: record, current: present)
        storage.noteLinks(ofDeleted: own)
      }
    }
  }

  /// Loads the unloaded objects of identifiers, in one read for each store.
  private final func loadMissing(_ ids: [ManagedObjectID]) throws -> [ManagedObject] {
    let missing = zip(ids, storage.registry.objects(for: ids)).compactMap { id, object in
      object?.isLoaded == true ? nil : id
    }
    var objects: [ManagedObject] = []
    self.objects(for: try loadRows(missing), into: &objects)
    return objects
  }

  /// Whether a child has inserted a record that this context does not have yet.
  private final func isNew(_ record: PendingRecord) -> Bool {
    record.kind == .inserted && storage.registry.object(for: record.id) == nil
  }

  /// Makes an inserted object of this context from a child's.
  private final func receiveInsert(_ record: PendingRecord) {
    let object = record.entity.objectClass.init(
      ObjectBirth(entity: record.entity, id: record.id, storage: storage, row: nil))
    let own = PendingRecord(inserting: record.id, record.snapshot)
    for slot in record.entity.referenceSlots { own.replace(present(record[slot]), at: slot) }
    own.members = record.members.mapValues { $0.mapped(current) }
    own.assignedStore = record.assignedStore
    own.initialState = InitialState(assignedByChild: record.assignedSlots)
    own.object = object
    object.pending = own
    object.flags.insert(.awake)
    if record.object?.flags.contains(.temporaryIDExposed) == true { object.flags.insert(.temporaryIDExposed) }
    storage.registry.insert(object)
    storage.track(own)
    if storage.recordsUndo { storage.undo?.record(.inserted(object)) }
  }

  /// Adds a child's edits to an object of this context.
  private final func receiveUpdate(_ record: PendingRecord, of object: ManagedObject) throws {
    let own = try object.changeable()
    if storage.recordsUndo { try object.recordUndo(of: record, in: own, current: current) }
    let members = record.members.mapValues { $0.mapped(current) }
    var stored: [RelationshipDescription: [ManagedObjectID: Bool]] = [:]
    for (relationship, changes) in members {
      stored[relationship] = try object.storedMembers(revertedBy: changes, of: relationship)
    }
    storage.withPending {
      own.noteOvertaken(of: record, current: present)
      for slot in record.changed { own.set(present(record[slot]), at: slot) }
      for (relationship, changes) in members {
        if relationship.isOrdered { storage.noteListChange() }
        own.members[relationship, default: MemberChanges()].merge(
          changes, isOrdered: relationship.isOrdered, isStored: stored[relationship] ?? [:])
        object.collections?[relationship]?.effective = nil
      }
    }
  }

  /// Replaces the former temporary identifier of a reference by the record's present identifier.
  private final func present(_ value: AttributeValue) -> AttributeValue {
    guard case .reference(let id) = value, id.isTemporaryID else { return value }
    return .reference(current(id))
  }

  /// Deletes an object of this context that a child has deleted. The child has applied the delete rules already, but
  /// only to the targets and members that it knew.
  private final func receiveDelete(_ record: PendingRecord, of object: ManagedObject) throws {
    guard object.pending?.kind != .deleted else { return }
    let own = try object.changeable()
    if storage.recordsUndo { recordUndo(ofDeleting: object, own) }
    if own.hasRelatedEdits {
      // The rules find the targets and members that this context added later, and no others.
      scheduleDeleteRules(of: object)
    } else if own.base == nil, !isParentsInsert(own) {
      return detachDeleted(object)
    }
    storage.withPending {
      own.noteOvertaken(of: record, current: present)
      storage.noteLinks(ofDeleted: own)
    }
    storage.markDeleted(own)
  }

  private final func recordUndo(ofDeleting object: ManagedObject, _ record: PendingRecord) {
    let deleted = DeletedObject(object, record)
    for relationship in object.entity.relationships where relationship.isToMany {
      deleted.members[relationship] = try? object.memberIDs(of: relationship)
    }
    storage.undo?.record(.deleted(deleted))
  }

  /// Makes a record clean after the parent has received its changes.
  private final func markClean(_ record: PendingRecord, _ changes: inout ChangeSet) {
    if record.kind == .deleted { changes.deleted.append(record.id) }
    guard let object = record.object else { return storage.untrack(record) }
    if record.kind == .deleted { return detachDeleted(object) }
    for relationship in record.members.keys {
      guard object.collections?[relationship] != nil, let ids = try? object.memberIDs(of: relationship) else {
        continue
      }
      object.setMemberList(ids, of: relationship, version: record.base?.version)
    }
    let row = record.snapshot
    if record.kind == .inserted { changes.inserted.append(row) } else { changes.updated.append(row) }
    storage.untrack(record)
    object.row = row
  }

  /// Whether a parent has inserted the record and not saved it yet. Only the parent can save such a record.
  final func isParentsInsert(_ record: PendingRecord) -> Bool {
    var ancestor = parent
    while let context = ancestor {
      let storage = context.storage
      let isInserted = storage.withPending { storage.recordUnderLock(for: record.id)?.kind == .inserted }
      if isInserted { return true }
      ancestor = context.parent
    }
    return false
  }

  /// The stored row below the unsaved changes of parents; `nil` when the record's base already is the stored row.
  ///
  /// A parent with an unprocessed save of this context in its inbox has an older row below its changes. The record's
  /// own base is newer, and is used.
  final func storedBase(of record: PendingRecord) throws -> StoredBase? {
    let parents = parentEdits(of: record.id)
    var parentBase: Row?
    for base in parents.map(\.base) {
      if base.version >= record.base?.version ?? base.version { parentBase = base }
    }
    guard let row = try parentBase ?? storedBaseUnderAbandonedChanges(of: record) else { return nil }
    return StoredBase(row: row, overtaken: record.editsOvertaken(by: row, below: parents, current: present))
  }

  /// The stored row of a record whose base contains unsaved changes of a parent: changes that the parent has discarded
  /// since, or changes on top of a later row than the parent has seen.
  private final func storedBaseUnderAbandonedChanges(of record: PendingRecord) throws -> Row? {
    // A base that is the cached stored row has no changes of a parent.
    guard let base = record.base, base.id.space.rows.row(base.key)?.isIdentical(to: base) != true,
      let stored = try committedRow(base.id), stored.version >= base.version
    else { return nil }
    return stored
  }
}
