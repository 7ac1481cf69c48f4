// Finding, inserting and deleting objects.

extension ManagedObjectContext {
  /// Makes a new object of an entity and inserts it.
  ///
  /// The object has the attributes' default values and a temporary identifier, which a save or
  /// ``obtainPermanentIDs(for:)`` replaces. Reads no store.
  ///
  /// - Throws: ``ErrorCode/unknownEntity``, also for an abstract entity; ``ErrorCode/contextWithoutStore``.
  @discardableResult
  public final func insertNewObject(forEntityName name: String) throws -> ManagedObject {
    let entity = try model().entity(named: name)
    guard !entity.isAbstract else {
      throw CoherenceError(.unknownEntity, "'\(name)' is abstract: make an object of one of its subentities.")
    }
    let object = entity.objectClass.init(ObjectBirth(entity: entity, id: .temporary(for: entity), storage: nil))
    object.pending = PendingRecord(inserting: object.recordID, entity.blankRow)
    object.initializeDefaults()
    object.pending?.noteDefaults()
    insert(object)
    return object
  }

  /// Inserts an object without a context, together with all its related objects. Does nothing for an object of this
  /// context.
  ///
  /// Reads no store. Calls `awakeFromInsert` of each inserted object. An assignment that an accessor of the object has
  /// ignored before is reported now, see ``reportedErrors``. An object of another context, and a deleted object, end the
  /// process with a sentence.
  ///
  /// - Precondition: The object is in this context already, or in none.
  public final func insert(_ object: ManagedObject) {
    operating {
      if object.storage === storage {
        Misuse.check(
          !object.flags.contains(.detached), "\(object) was deleted and cannot be inserted again; make a new object.")
        return
      }
      Misuse.check(object.storage == nil, wrongContextMessage(object))
      // An initializer of the object's class calls this method: the object has no record yet.
      guard let record = object.pending else { return }
      object.storage = storage
      record.object = object
      storage.registry.insert(new: object)
      storage.track(record)
      if storage.recordsUndo { storage.undo?.record(.inserted(object)) }
      if let uninsertedGraph = record.uninsertedGraph {
        let lostChanges = uninsertedGraph.lostChanges
        for related in uninsertedGraph.removeAll() {
          insert(related)
          if let error = lostChanges[related.recordID] { report(error, for: related, losesChange: true) }
        }
      }
      object.flags.insert(.awake)
      let assigned = record.changed
      object.awakeFromInsert()
      record.noteDefaults(since: assigned)
    }
  }

  /// Marks an object for deletion by the next save. The next fetch, `processPendingChanges` or `save` applies its
  /// delete rules, and so does a read of a relationship that the object is a member or the target of: a deleted object
  /// is no member. An inserted object then leaves the context. A failure to load the record is reported like the
  /// failure of an accessor, see ``reportedErrors``. Does nothing for a deleted object and for a missing record.
  ///
  /// Reads the record of a fault. The delete rules read the members of the object's relationships, with common reads
  /// for all objects deleted since the last application of the rules. A cascade makes objects of the deleted records
  /// only if their class may override a deletion hook, see ``DeletionHooks``, or if changes are recorded for undo.
  ///
  /// - Precondition: The object belongs to this context.
  public final func delete(_ object: ManagedObject) {
    operating {
      Misuse.check(object.storage === storage, wrongContextMessage(object))
      delete(object, isPrepared: false)
    }
  }

  /// The sentence for the misuse of an object that does not belong to this context.
  final func wrongContextMessage(_ object: ManagedObject) -> String {
    guard let other = object.storage else { return "\(object) has no context yet; insert it first." }
    return
      "\(object) belongs to another context, the \(other.context?.label ?? "context that is gone"), and was used with "
      + "the \(label); get it here with `object(with:)`."
  }

  /// Returns the registered object with an identifier; `nil` if the context has none. The object may be a fault, or
  /// deleted. Reads no store, at the cost of one look-up.
  public final func registeredObject(with id: ManagedObjectID) -> ManagedObject? {
    operating { storage.registry.object(for: current(id)) }
  }

  /// Returns the object with an identifier: a registered object, or a new fault, whether or not the record exists.
  /// Reads no store, unless the entity has subentities, because only the row names the object's own entity. The first
  /// access to the values of a missing record fails.
  public final func object(with id: ManagedObjectID) -> ManagedObject {
    operating {
      processInboxIfUsedDirectly()
      let id = current(id)
      defer { if id.isTemporaryID { exposeTemporaryID(id) } }
      if let object = storage.registry.object(for: id) { return object }
      if let object = try? fault(for: id, of: id.entity) { return object }
      // The record is missing, or the store fails: without a row, any entity of the hierarchy is as good.
      return makeFault(id, entity: id.entity.concreteEntities.first ?? id.entity)
    }
  }

  /// Returns the object with an identifier, and loads it. A loaded object costs a look-up, a fault the read of its
  /// record.
  ///
  /// - Throws: ``ErrorCode/objectNotFound`` when the record does not exist, ``ErrorCode/objectDeleted`` when this
  ///   context deleted it, ``ErrorCode/storeDetached``, and errors of the store.
  public final func existingObject(with id: ManagedObjectID) throws -> ManagedObject {
    try operating {
      processInboxIfUsedDirectly()
      try applyReadableDeleteRules()
      let object = try fault(for: current(id), of: id.entity)
      if object.flags.contains(.detached) || object.pending?.kind == .deleted { throw object.deletedError() }
      try object.loadRow()
      // The caller has the temporary identifier of a parent's record, and may use it again after the save.
      if object.recordID.isTemporaryID { exposeTemporaryID(object.recordID) }
      return object
    }
  }

  /// Returns the object with an identifier as an object of a class, and loads it; see ``existingObject(with:)``.
  ///
  /// - Throws: ``ErrorCode/wrongType`` for a record of another class, and the errors of ``existingObject(with:)``.
  public final func existingObject<Object: ManagedObject>(
    with id: ManagedObjectID, as type: Object.Type
  ) throws -> Object {
    let object = try existingObject(with: id)
    guard let result = object as? Object else { throw object.classError(type) }
    return result
  }

  /// All registered objects, faults included. The context does not retain clean objects, so that the set depends on the
  /// objects in use. Each access makes a set of all objects.
  public final var registeredObjects: Set<ManagedObject> { operating { Set(storage.registry.all) } }
  /// The inserted, unsaved objects. Applies pending delete rules first, and the cost grows with the number of unsaved
  /// records, like the two properties below.
  public final var insertedObjects: Set<ManagedObject> { objects(of: .inserted) }
  /// The saved objects with unsaved changes.
  public final var updatedObjects: Set<ManagedObject> { objects(of: .updated) }
  /// The objects that the next save deletes. Makes the objects of records that a cascade deletes without objects.
  public final var deletedObjects: Set<ManagedObject> { objects(of: .deleted) }

  /// Whether the context has unsaved changes. An assignment of the saved value is no change. Reads no store; the search
  /// of the unsaved records ends at the first changed record.
  public final var hasChanges: Bool {
    operating { !storage.pendingRules.objects.isEmpty || storage.hasChanges }
  }

  /// Whether a save would change a record. May be asked on any thread, and does not wait for the context.
  package final var hasUnsavedRecords: Bool { storage.withPending { storage.hasChanges } }

  private final func objects(of kind: PendingRecord.Kind) -> Set<ManagedObject> {
    operating {
      try? applyReadableDeleteRules()
      let records = storage.records.filter { $0.kind == kind && !$0.isUnchanged }
      return Set(records.compactMap { $0.isBareDelete ? makeFault($0.id, entity: $0.entity) : $0.object })
    }
  }

  /// Returns the present identifier of a record, given a former identifier: its temporary identifier, or the identifier
  /// of an inserted record that became another record.
  final func current(_ id: ManagedObjectID) -> ManagedObjectID { storage.formerIDs.current(id) }

  /// The registered object with an identifier, or a new fault.
  ///
  /// The row names the record's entity within the hierarchy. If several entities are possible, the row is loaded. So is
  /// the row of a temporary identifier, because only a parent that still has the unsaved record can load the fault
  /// later.
  ///
  /// - Throws: ``ErrorCode/objectNotFound`` for a loaded row that does not exist; errors of the store.
  final func fault(for id: ManagedObjectID, of entity: EntityDescription) throws -> ManagedObject {
    let id = current(id)
    if let object = storage.registry.object(for: id) { return object }
    let candidates = entity.concreteEntities
    if candidates.count == 1, !id.isTemporaryID { return makeFault(id, entity: candidates[0]) }
    guard let row = try loading({ try loadRow(id) }) else {
      var error = CoherenceError(.objectNotFound, "The record '\(id)' does not exist any more.")
      error.objectIDs = [id]
      throw error
    }
    let object = object(for: row)
    awakenLoaded()
    return object
  }

  /// Makes and registers a fault.
  ///
  /// - Parameter group: The fetch group of the fault, whose faults are loaded together.
  final func makeFault(
    _ id: ManagedObjectID, entity: EntityDescription, in group: FetchGroup? = nil
  ) -> ManagedObject {
    let index = group?.add(id) ?? 0
    let object = entity.objectClass.init(
      ObjectBirth(entity: entity, id: id, storage: storage, group: group?.number ?? 0, index: index))
    storage.registry.insert(object)
    if storage.unsaved.hasBareDeletes { connectToBareDelete(object) }
    return object
  }

  /// Connects a new object with the unsaved delete of its record, which a cascade made without an object.
  final func connectToBareDelete(_ object: ManagedObject) {
    guard object.pending == nil, let record = storage.record(for: object.recordID), record.isBareDelete else { return }
    record.object = object
    object.pending = record
    object.row = record.base
    // `awakeFromFetch` is not called for values that no read has requested.
    object.flags.insert(.awake)
  }

  /// The object of a row.
  final func object(for row: Row) -> ManagedObject {
    var objects: [ManagedObject] = []
    self.objects(for: [row], into: &objects)
    return objects[0]
  }

  /// Options for making objects of rows.
  struct ObjectMaking: OptionSet {
    let rawValue: Int
    /// New objects are faults.
    static let asFaults = ObjectMaking(rawValue: 1)
    /// Registered objects keep the row that they have.
    static let keepsRows = ObjectMaking(rawValue: 2)
    /// The caller calls ``awaken(_:)`` with the new objects.
    static let awakensLater = ObjectMaking(rawValue: 4)
  }

  /// Finds or makes the objects of rows, and appends them in the same order. A registered object without changes gets a
  /// newer row.
  ///
  /// - Parameter group: The fetch group of the records; `nil` for none.
  final func objects(
    for rows: [Row], into objects: inout [ManagedObject], _ making: ObjectMaking = [], in group: FetchGroup? = nil
  ) {
    let storage = storage
    // Safety of `Unmanaged`: the context retains its storage.
    let unmanagedStorage = Unmanaged.passUnretained(storage)
    let asFaults = making.contains(.asFaults)
    let number = group?.number ?? 0
    let start = objects.count
    // The difference between the index of an object in its group and its index in `objects`.
    let offset = (group?.count ?? 0) - start
    group?.add(rows)
    storage.registry.objects(
      for: rows, into: &objects,
      make: { row, index in
        let birth = ObjectBirth(
          row: row, storage: unmanagedStorage, isFault: asFaults, group: number,
          index: UInt32(truncatingIfNeeded: index &+ offset))
        return birth.entity._withUnsafeGuaranteedRef { $0.objectClass }.init(birth)
      },
      found: { object, row, index in
        if number != 0 {
          object.groupNumber = number
          object.groupIndex = UInt32(truncatingIfNeeded: index + offset)
        }
        // The row of unsaved changes is their base, which only a refresh or a merge replaces.
        guard object.pending == nil, !asFaults || object.row != nil else { return }
        guard let currentRow = object.row else { return object.fill(with: row) }
        if making.contains(.keepsRows) || currentRow.version >= row.version { return }
        object.row = row
      })
    if storage.unsaved.hasBareDeletes { objects.visit(from: start, connectToBareDelete) }
    guard !asFaults, !making.contains(.awakensLater) else { return }
    objects.visit(from: start) { if $0.isAsleep { storage.loads.append($0) } }
  }
}

extension ManagedObject {
  /// The error of a request for the object as an object of another class.
  final func classError(_ type: ManagedObject.Type) -> CoherenceError {
    CoherenceError(
      .wrongType,
      "The identifier of a record of '\(entity.name)' was given where objects of '\(type)' are asked for; "
        + "ask for the class of the entity or of a parent.")
  }
}
