// A save into a parent context, and the parent's side of a child's save.

extension ManagedObjectContext {
  /// Saves the changes into the parent, in memory.
  final func save(into parent: ManagedObjectContext) throws {
    let records = storage.records.filter { !$0.isUnchanged }.sorted { ManagedObjectID.precedes($0.id, $1.id) }
    parent.supersedeMainUnit()
    let discarded = try pass(records, to: parent)
    pendingSignals = []
    persistentStoreCoordinator?.countSave()
    var changes = ChangeSet()
    discard(discarded, among: records)
    let passed = discarded.isEmpty ? records : records.filter { !discarded.contains($0.id) }
    let saved = passed.compactMap { $0.changesPositionsOnly ? nil : $0.object }
    let moved = storage.unsaved.movedRecords
    for record in passed { markClean(record, &changes) }
    storage.reports.removeAll()
    storage.forgetDeletesOfCleanRecords()
    invalidateLists(of: changes.deleted, withoutInverse: true)
    // The lists were read with these records: before the parent had deleted them, or while only their unsaved changes
    // left them out.
    invalidateLists(of: discarded.union(moved))
    propagate(changes, passesParents: savesPastParent)
    noteSaved(saved)
  }

  /// Passes changes to the parent. The merge policy of this context decides about the changes of records that are
  /// deleted in the parent.
  ///
  /// - Returns: The records whose changes the policy has discarded.
  /// - Throws: ``ErrorCode/versionConflict`` with the conflicts that the policy does not resolve; errors of the policy.
  private final func pass(
    _ records: [PendingRecord], to parent: ManagedObjectContext
  ) throws -> Set<ManagedObjectID> {
    var conflicts = ParentConflicts()
    while true {
      // The parent reads the changed and deleted records over a connection of its own. A policy may have read in this
      // context since the round before.
      lease.endForSave()
      var deleted: Set<ManagedObjectID> = []
      try enter(parent) {
        deleted = try parent.receive(records, conflicts)
        guard deleted.isEmpty else { return }
        parent.pendingSignals.formUnion(pendingSignals)
        parent.noteMoves(of: storage.unsaved.movedRecords)
      }
      if deleted.isEmpty { return conflicts.discarded }
      // Each round decides about further records. The parent may delete records between two rounds.
      try resolve(deleted, among: records, in: &conflicts)
    }
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
  ///
  /// - Parameter conflicts: The decisions of the child's policy about deleted records.
  /// - Returns: The deleted records without a decision. If there are any, this context is unchanged.
  private final func receive(
    _ records: [PendingRecord], _ conflicts: ParentConflicts
  ) throws -> Set<ManagedObjectID> {
    // An edit of a record that a rule of this context deletes is a conflict, whether or not a read has applied the rule.
    try applyReadableDeleteRules()
    let discarded = conflicts.discarded
    let records = discarded.isEmpty ? records : records.filter { !discarded.contains($0.id) }
    // Changed and deleted records are loaded first, together, so that a failure leaves this context as it was.
    let bareRows = try loadRows(records.filter(needsNoObject).map(\.id))
    let bareIDs = Set(bareRows.lazy.map(\.id))
    let changed = bareIDs.isEmpty ? records : records.filter { !bareIDs.contains($0.id) }
    let loaded = try loadMissing(changed.filter { !isNew($0) }.map(\.id))
    defer {
      withExtendedLifetime(loaded) {}
      awakenLoaded()
    }
    var targets: [ManagedObjectID: ManagedObject] = [:]
    var restored: [PendingRecord] = []
    var deleted: Set<ManagedObjectID> = []
    for record in changed where !isNew(record) {
      if let object = try target(of: record) {
        targets[record.id] = object
      } else if conflicts.restoredValues(of: record.id) != nil {
        restored.append(record)
      } else {
        deleted.insert(record.id)
      }
    }
    guard deleted.isEmpty else { return deleted }
    let related = try loadRelated(of: restored, conflicts)
    defer { withExtendedLifetime(related) {} }
    try loadLists(changedBy: changed, of: targets, without: discarded)
    if storage.recordsUndo { try recordUndo(ofReferencesToDeleted: changed, targets) }
    for record in restored { targets[record.id] = try restore(presentBase(of: record)) }
    try receive(changed, targets, without: discarded)
    for record in restored {
      guard let object = targets[record.id], let values = conflicts.restoredValues(of: record.id) else { continue }
      try write(values, of: record, to: object)
    }
    receiveBareDeletes(records.filter { bareIDs.contains($0.id) }, bareRows)
    return []
  }

  /// Applies loaded changes.
  ///
  /// - Parameters:
  ///   - targets: The objects of the changed and deleted records.
  ///   - discarded: The records that the child's policy gives up, and that leave the lists of the others.
  private final func receive(
    _ records: [PendingRecord], _ targets: [ManagedObjectID: ManagedObject], without discarded: Set<ManagedObjectID>
  ) throws {
    let inserts = records.filter(isNew)
    for record in inserts { receiveInsert(record, members(of: record, without: discarded)) }
    // After all inserts: an undo clears the references before it deletes a target.
    if storage.recordsUndo { for record in inserts { storage.registry.object(for: record.id)?.recordUndoOfPartners() } }
    var neverSaved: Set<ManagedObjectID> = []
    var owners: [ManagedObject] = []
    for record in records {
      guard let object = targets[record.id] else { continue }
      if record.kind == .deleted {
        if try receiveDelete(record, of: object) { owners.append(object) }
      } else {
        try receiveUpdate(record, members(of: record, without: discarded), of: object)
      }
      if object.flags.contains(.detached) { neverSaved.insert(object.recordID) }
    }
    // A rule applied by a read between two changes would delete objects of the changes that follow.
    for owner in owners { scheduleDeleteRules(of: owner) }
    try forgetNeverSaved(neverSaved)
  }

  /// The object to which a child's change applies; `nil` if its record is deleted, in this context or in the store.
  ///
  /// - Throws: ``ErrorCode/objectNotFound`` for an insert that this context has discarded: the record was in no store,
  ///   so that no other writer can have deleted it.
  private final func target(of record: PendingRecord) throws -> ManagedObject? {
    let mayBeDeleted = record.base != nil && !current(record.id).isTemporaryID
    do {
      let object = try fault(for: record.id, of: record.entity)
      try object.loadRow()
      if record.kind != .deleted, object.isDeleted { throw object.deletedError() }
      return object
    } catch let error as CoherenceError where mayBeDeleted && error.isOfMissingRecord {
      return nil
    }
  }

  /// A child's base of a record, with present identifiers.
  private final func presentBase(of record: PendingRecord) -> Row {
    var row = (record.base ?? record.snapshot).renamed(to: current(record.id))
    for slot in record.entity.referenceSlots { row.set(present(row[slot]), at: slot) }
    return row
  }

  /// Loads the lists, targets and members of deleted objects that a child's edit restores, and the targets that the
  /// child's policy gives to restored records.
  private final func loadRelated(
    of records: [PendingRecord], _ conflicts: ParentConflicts
  ) throws -> [ManagedObject] {
    let objects = records.compactMap { record -> ManagedObject? in
      guard let own = storage.record(for: current(record.id)), own.kind == .deleted else { return nil }
      // A cascade may have deleted the record without an object, which the restore needs.
      return own.object ?? makeFault(own.id, entity: own.entity)
    }
    var related: [ManagedObject] = []
    for (entity, group) in Dictionary(grouping: objects, by: \.entity) {
      for relationship in entity.relationships { related += try prefetch(relationship.name, of: group) }
    }
    for record in records {
      guard let values = conflicts.restoredValues(of: record.id) else { continue }
      related += try loadTargets(in: values, restoring: record)
    }
    return related
  }

  /// Loads the lists that the changes of a child read, because a read that fails later would leave the child's save
  /// half received.
  private final func loadLists(
    changedBy records: [PendingRecord], of targets: [ManagedObjectID: ManagedObject],
    without discarded: Set<ManagedObjectID>
  ) throws {
    for record in records {
      guard let object = targets[record.id] else { continue }
      guard record.kind != .deleted else {
        try loadMembers(leaving: object, before: record)
        continue
      }
      for (partner, inverse) in partnersLeft(by: object, dueTo: record) {
        try partner.loadSide(for: .remove(object.recordID), of: inverse)
      }
      guard record.hasMembers, storage.recordsUndo || object.pending?.hasMembers == true else { continue }
      for (relationship, changes) in members(of: record, without: discarded) {
        if storage.recordsUndo, relationship.isOrdered { _ = try object.memberList(of: relationship) }
        _ = try object.storedMembers(revertedBy: changes, of: relationship)
      }
    }
  }

  /// The targets that this context has given to an object, and that a child's edit of the same relationships replaces
  /// without knowing them, with the relationships that lead back. The child has changed the other side of the former
  /// targets that it knew.
  private final func partnersLeft(
    by object: ManagedObject, dueTo record: PendingRecord
  ) -> [(partner: ManagedObject, inverse: RelationshipDescription)] {
    guard let own = object.pending, !own.changed.isEmpty else { return [] }
    return own.entity.referenceSlots.compactMap { slot -> (partner: ManagedObject, inverse: RelationshipDescription)? in
      guard own.changed.contains(slot), record.changed.contains(slot), case .reference(let id) = own[slot],
        own[slot] != present(record[slot]), own[slot] != record.base.map({ present($0[slot]) }),
        case .reference(let relationship) = own.entity.slots[slot], let inverse = relationship.inverse,
        let partner = storage.registry.object(for: id)
      else { return nil }
      return (partner, inverse)
    }
  }

  /// A child's changes of members, with present identifiers and without added records that the policy has given up.
  private final func members(
    of record: PendingRecord, without discarded: Set<ManagedObjectID>
  ) -> [RelationshipDescription: MemberChanges] {
    record.members.mapValues { changes in
      var changes = changes
      if !discarded.isEmpty { changes.forget(discarded) }
      return changes.mapped(current)
    }
  }

  /// Whether a child's delete of a record needs no object in this context: a bare delete.
  private final func needsNoObject(_ record: PendingRecord) -> Bool {
    record.kind == .deleted && !storage.recordsUndo && !record.entity.checked.hasDeletionHooks
      && storage.registry.object(for: record.id) == nil && storage.record(for: record.id) == nil
  }

  /// Turns deletes of a child into deletes of this context, without objects.
  private final func receiveBareDeletes(_ records: [PendingRecord], _ rows: [Row]) {
    guard !records.isEmpty else { return }
    let count = storage.trackBareDeletes(of: rows)
    // The child has applied the delete rules, for which the tracking queues the records.
    storage.pendingRules.records.removeLast(count)
    storage.withPending {
      for record in records {
        guard let own = storage.recordUnderLock(for: record.id) else { continue }
        own.noteOvertaken(of: record, current: present)
        storage.noteLinks(ofDeleted: own)
        storage.noteMove(of: own, byChildOn: record.base)
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
  private final func receiveInsert(
    _ record: PendingRecord, _ members: [RelationshipDescription: MemberChanges]
  ) {
    let object = record.entity.objectClass.init(ObjectBirth(entity: record.entity, id: record.id, storage: storage))
    let own = PendingRecord(inserting: record.id, record.snapshot)
    for slot in record.entity.referenceSlots { own.replace(present(record[slot]), at: slot) }
    own.members = members
    own.assignedStore = record.assignedStore
    // The child has saved past this context, and the store may have the record already.
    if record.mayBeStored { (own.reservedID, own.mayBeStored) = (record.reservedID, true) }
    (own.changed, own.initialState) = (record.changed, record.initialState)
    own.object = object
    object.pending = own
    object.flags.insert(.awake)
    if record.object?.flags.contains(.temporaryIDExposed) == true { object.flags.insert(.temporaryIDExposed) }
    storage.registry.insert(object)
    storage.track(own)
    if storage.recordsUndo { storage.undo?.record(.inserted(object)) }
  }

  /// Adds a child's edits to an object of this context.
  private final func receiveUpdate(
    _ record: PendingRecord, _ members: [RelationshipDescription: MemberChanges], of object: ManagedObject
  ) throws {
    let own = try object.changeable()
    for (partner, inverse) in partnersLeft(by: object, dueTo: record) {
      try partner.removeRelated(object, of: inverse)
    }
    if storage.recordsUndo { try object.recordUndo(of: record, in: own, current: current) }
    var stored: [RelationshipDescription: [ManagedObjectID: Bool]] = [:]
    for (relationship, changes) in members {
      stored[relationship] = try object.storedMembers(revertedBy: changes, of: relationship)
    }
    let (combined, comparesProperties) = (mergePolicy.combinedSlots(of: own.entity), showsSavesOfOthers)
    storage.withPending {
      own.noteOvertaken(of: record, current: present)
      for slot in record.changed {
        own.apply(present(record[slot]), at: slot, of: record, combined, comparesProperties)
      }
      storage.noteMove(of: own, byChildOn: record.base)
      for (relationship, changes) in members {
        if relationship.isOrdered { storage.noteListChange() }
        own.members[relationship, default: MemberChanges()].merge(
          object.rebased(changes, of: relationship), isOrdered: relationship.isOrdered,
          isStored: stored[relationship] ?? [:])
        object.collections?[relationship]?.effective = nil
      }
    }
  }

  /// Replaces the former identifier of a reference by the record's present identifier.
  final func present(_ value: AttributeValue) -> AttributeValue {
    guard case .reference(let id) = value else { return value }
    return .reference(current(id))
  }

  /// Notes that a child has moved or deleted records that other writers have moved too. The child has changed the lists
  /// of the former owners only.
  private final func noteMoves(of ids: Set<ManagedObjectID>) {
    guard !ids.isEmpty else { return }
    let ids = ids.map(current)
    storage.withPending {
      storage.unsaved.movedRecords.formUnion(ids.filter { storage.recordUnderLock(for: $0) != nil })
    }
  }

  /// Makes a record clean after the parent has received its changes.
  private final func markClean(_ record: PendingRecord, _ changes: inout ChangeSet) {
    if record.kind == .deleted { changes.deleted.append(record.id) }
    guard let object = record.object else { return storage.untrack(record) }
    if record.kind == .deleted { return detachDeleted(object) }
    for (relationship, edits) in record.members {
      if case .links = relationship.storage, !edits.isEmpty {
        changes.relinked[record.id, default: []].insert(relationship)
      }
      guard object.collections?[relationship] != nil, let ids = try? object.memberIDs(of: relationship) else {
        continue
      }
      object.setMemberList(ids, of: relationship, version: record.base?.version)
    }
    let row = record.snapshot
    if record.kind == .inserted { changes.inserted.append(row) } else { changes.updated.append(row) }
    storage.untrack(record)
    object.row = row
    object.keepExposedID()
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

  /// The stored row below the unsaved changes of parents, for each record; `nil` when the record's base already is the
  /// stored row. The rows that no parent has are read together.
  ///
  /// A parent with an unprocessed save of this context in its inbox has an older row below its changes. The record's
  /// own base is newer, and is used.
  final func storedBases(of records: [PendingRecord]) throws -> [StoredBase?] {
    let parents = records.map { parentEdits(of: $0.id) }
    var rows: [ManagedObjectID: Row] = [:]
    var unknown: [ManagedObjectID] = []
    for (record, edits) in zip(records, parents) {
      for base in edits.map(\.base) {
        if base.version >= record.base?.version ?? base.version { rows[record.id] = base }
      }
      if rows[record.id] == nil, let id = possiblyAbandonedBase(of: record) { unknown.append(id) }
    }
    let stored = Dictionary(try committedRows(unknown).map { ($0.id, $0) }) { first, _ in first }
    return zip(records, parents).map { record, edits in
      let abandoned = record.base.flatMap { base in stored[base.id].flatMap { $0.version >= base.version ? $0 : nil } }
      guard let row = rows[record.id] ?? abandoned else { return nil }
      return StoredBase(row: row, overtaken: record.editsOvertaken(by: row, below: edits, current: present))
    }
  }

  /// The identifier of a record whose base may contain unsaved changes of a parent: changes that the parent has discarded
  /// since, or changes on top of a later row than the parent has seen. `nil` for a base that is the cached stored row,
  /// which has no changes of a parent.
  private final func possiblyAbandonedBase(of record: PendingRecord) -> ManagedObjectID? {
    guard let base = record.base, base.id.space.rows.row(base.key)?.isIdentical(to: base) != true else { return nil }
    return base.id
  }
}
