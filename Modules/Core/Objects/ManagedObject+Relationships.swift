// MARK: - Typed accessors

extension ManagedObject {
  /// The target of a to-one relationship, for typed accessors. Neither throws nor traps: an unavailable target reads as
  /// `nil`, and the context reports the error in ``ManagedObjectContext/reportedErrors``. An assignment also changes
  /// the inverse relationship.
  ///
  /// To be used inside the context. The first access to a fault reads the store. The target may be a fault, which its
  /// own first access loads.
  public final subscript<Target>(key: ToOneKey<Target>) -> Target? {
    get {
      check()
      let slot = key.slot(in: self)
      if pending == nil, slot >= 0, let row, case .reference(let id) = row[slot],
        let object = unmanagedStorage?._withUnsafeGuaranteedRef({ $0.retainedReads.target(id) })
      {
        // The object's class is mostly the target class itself. This comparison is faster than a check for a subclass.
        return type(of: object) == Target.self ? unsafeDowncast(object, to: Target.self) : object as? Target
      }
      return slowTarget(of: key)
    }
    set {
      do {
        try setTarget(newValue, of: try toOne(key))
      } catch {
        becomeUnavailable(error, losesChange: true)
      }
    }
  }

  /// The target of a to-one relationship that the unit of work has not read yet, for the accessor.
  @inline(never) private final func slowTarget<Target>(of key: ToOneKey<Target>) -> Target? {
    do {
      return try target(of: try toOne(key)) as? Target
    } catch let error as CoherenceError where error.code == .objectNotFound && error.objectIDs != [recordID] {
      // A missing target does not make the owner unavailable.
      reportVanishedTarget(error, of: key.name)
      return nil
    } catch {
      becomeUnavailable(error)
      return nil
    }
  }

  /// The members of a to-many relationship, for typed accessors. Changes of the collection also change the inverse.
  ///
  /// To be used inside the context. The collection itself costs no read; ``ToMany`` lists the cost of its uses.
  public final subscript<Member>(key: ToManyKey<Member>) -> ToMany<Member> {
    ToMany(members: RelatedObjects(owner: self, key: key))
  }

  /// The members of an ordered to-many relationship, for typed accessors. Changes of the collection also change the
  /// inverse.
  ///
  /// To be used inside the context. The collection itself costs no read; ``OrderedToMany`` lists the cost of its uses.
  public final subscript<Member>(key: OrderedToManyKey<Member>) -> OrderedToMany<Member> {
    OrderedToMany(members: RelatedObjects(owner: self, key: key))
  }
}

// MARK: - To one

extension ManagedObject {
  /// The target of a to-one relationship. For a target marked for deletion, the pending delete rules are applied first.
  final func target(of relationship: RelationshipDescription) throws -> ManagedObject? {
    check()
    guard let slot = relationship.slot else {
      throw CoherenceError(.wrongType, "'\(entity.name).\(relationship.name)' is a to-many relationship.")
    }
    guard case .reference(let id) = try loadedValue(at: slot) else { return nil }
    guard let context = managedObjectContext else { return try uninsertedObject(id) }
    if let storage, storage.hasPendingDeleteRules, storage.record(for: id)?.kind == .deleted {
      try context.applyDeleteRules(beforeReading: recordID)
      // Without a rule that clears it, the reference stays.
      guard !flags.contains(.detached), try loadedValue(at: slot) == .reference(id) else { return nil }
    }
    return try context.target(id, of: relationship, from: self)
  }

  /// The object of a target or member of a relationship.
  final func member(_ id: ManagedObjectID, of relationship: RelationshipDescription) throws -> ManagedObject {
    guard let storage, let context = managedObjectContext else { return try uninsertedObject(id) }
    if let object = storage.registry.object(for: id) { return object }
    return try context.fault(for: id, of: relationship.destination)
  }

  /// A placeholder for an unavailable member: an object without a context, whose accessors return defaults.
  final func unavailableMember<Member: ManagedObject>(of name: String) -> Member {
    let candidates = (try? relationship(named: name))?.destination.concreteEntities ?? []
    guard let entity = candidates.first(where: { $0.objectClass is Member.Type }) else {
      Misuse.fail("'\(entity.name).\(name)' is no relationship with members of \(Member.self).")
    }
    let birth = ObjectBirth(entity: entity, id: .temporary(for: entity), storage: storage)
    let object = entity.objectClass.init(birth)
    object.flags.formUnion([.detached, .unavailable])
    // The entity was chosen for its class, which is a `Member`.
    return unsafeDowncast(object, to: Member.self)
  }

  /// A related object of the same uninserted graph.
  private final func uninsertedObject(_ id: ManagedObjectID) throws -> ManagedObject {
    guard let object = pending?.uninsertedGraph?.object(for: id) else { throw deletedError() }
    return object
  }

  /// Sets a to-one relationship and updates its inverse.
  final func setTarget(_ object: ManagedObject?, of relationship: RelationshipDescription) throws {
    check()
    guard let slot = relationship.slot else {
      throw CoherenceError(.wrongType, "'\(entity.name).\(relationship.name)' is a to-many relationship.")
    }
    if let object { try checkCanRelate(object, to: relationship) }
    let old = try loadedValue(at: slot)
    let new = object.map { AttributeValue.reference($0.recordID) } ?? .null
    guard old != new else { return }
    guard let inverse = relationship.inverse else { return try write(new, at: slot) }
    // Each side is loaded before the first change, so that a failed read changes no side.
    let former = try loadedPartner(old, of: relationship)
    var formerOwner: ManagedObject?
    if let object, let inverseSlot = inverse.slot {
      formerOwner = try object.loadedPartner(try object.loadedValue(at: inverseSlot), of: inverse)
    }
    // The history copies an ordered list before the list's first change.
    if storage?.recordsUndo == true, inverse.isOrdered { _ = try object?.memberList(of: inverse) }
    try former?.removeRelated(self, of: inverse)
    // In a one-to-one relationship, the new target leaves the object that has led to it.
    if let object, let formerOwner, formerOwner !== self { try formerOwner.removeRelated(object, of: relationship) }
    try write(new, at: slot)
    try clearPosition(after: slot)
    try object?.addRelated(self, of: inverse)
  }

  /// Clears the position of a record in its former owner's list, because it has no position in the new owner's list
  /// yet.
  final func clearPosition(after slot: Int) throws {
    guard slot + 1 < entity.slotCount, case .position = entity.slots[slot + 1] else { return }
    try write(.null, at: slot + 1)
  }

  /// Adds an object to this side of a relationship. The caller has set the object's own side.
  final func addRelated(_ object: ManagedObject, of relationship: RelationshipDescription) throws {
    if let slot = relationship.slot { return try write(.reference(object.recordID), at: slot) }
    try changeMembers(of: relationship, .add(object.recordID))
  }

  /// Removes an object from this side of a relationship. The caller has cleared the object's own side.
  final func removeRelated(_ object: ManagedObject, of relationship: RelationshipDescription) throws {
    try removeRelated(object.recordID, of: relationship)
  }

  /// Removes a record from this side of a relationship. The caller has cleared the record's own side, or deletes the
  /// record. An object whose own record does not exist any more has no side to change.
  final func removeRelated(_ id: ManagedObjectID, of relationship: RelationshipDescription) throws {
    guard pending?.kind != .deleted else { return }
    do {
      guard let slot = relationship.slot else { return try changeMembers(of: relationship, .remove(id)) }
      if try loadedValue(at: slot) == .reference(id) { try write(.null, at: slot) }
    } catch let error as CoherenceError where error.isOfMissingRecord {
      // Another writer deleted the record, and its links with it; or the reference was dangling.
    }
  }

  /// Checks whether an object may become a target or member of a relationship of this object.
  private final func checkCanRelate(_ object: ManagedObject, to relationship: RelationshipDescription) throws {
    guard object.entity.isKind(of: relationship.destination) else {
      throw CoherenceError(
        .wrongType,
        "'\(entity.name).\(relationship.name)' leads to '\(relationship.destination.name)', "
          + "not to '\(object.entity.name)'.")
    }
    guard object.storage === storage else {
      throw CoherenceError(
        .wrongContext,
        "Objects of two contexts cannot be related: get the object in this context with `object(with:)`, "
          + "or insert both into one.")
    }
    guard object.flags.isDisjoint(with: [.detached, .missing]), object.pending?.kind != .deleted else {
      throw object.deletedError()
    }
    if let own = storeIdentifier, let other = object.storeIdentifier, own != other {
      throw CoherenceError(
        .relationshipCrossesStores,
        "'\(entity.name).\(relationship.name)' would lead from one store into another; keep both in one store.")
    }
    object.check()
    // The record is loaded before any change, so that a missing record throws before one side is changed.
    if relationship.inverse != nil { try object.loadRow() }
    if storage == nil { UninsertedGraph.connect(self, object) }
  }
}

// MARK: - To many

extension ManagedObject {
  /// The identifiers of a to-many relationship's members: in their order, or, if the relationship is unordered, saved
  /// members by key, then unsaved members.
  final func memberIDs(of relationship: RelationshipDescription) throws -> [ManagedObjectID] {
    check()
    if flags.contains(.detached) { throw deletedError() }
    try removeDeletedMembers(of: relationship)
    let ids = try changedMemberIDs(of: relationship)
    // The list may have records that other writers have added, and that this context has deleted or moved.
    guard let storage, storage.mayListNonmembers(relationship) else { return ids }
    return ids.filter { !storage.isLeftOut(storage.record(for: $0), of: relationship, owner: recordID) }
  }

  /// Applies the pending delete rules if a deleted record is a member. A list that is not loaded may have each deleted
  /// record of the members' hierarchy as a member. The rules of other deletes wait until they are applied together.
  final func removeDeletedMembers(of relationship: RelationshipDescription) throws {
    guard let storage, storage.hasPendingDeleteRules, relationship.inverse != nil, let context = managedObjectContext
    else { return }
    let list = loadedList(of: relationship)
    let hasDeletedMember =
      storage.pendingRules.objects.hasObject(of: relationship.destination.root)
      && (list.map { mayHaveDeletedMember($0, of: relationship, in: storage) } ?? true)
    // After a failure of the rules below, the next read compares the same deletes again.
    if !hasDeletedMember { list?.comparedDeletes = storage.pendingRules.deleteCount }
    if hasDeletedMember { try context.applyDeleteRules(beforeReading: recordID) }
  }

  /// The members from the store or the parent, with this context's own changes applied. In a relationship without an
  /// inverse, the result contains members marked for deletion.
  final func changedMemberIDs(of relationship: RelationshipDescription) throws -> [ManagedObjectID] {
    let list = try memberList(of: relationship)
    guard let changes = pending?.members[relationship], !changes.isEmpty else { return list.ids }
    if let effective = list.effective { return effective }
    var ids = changes.applied(to: list.ids)
    if !relationship.isOrdered { ids.sort(by: ManagedObjectID.precedes) }
    list.effective = ids
    return ids
  }

  /// The version of the row on which the object's unsaved changes are based, or of its row; `nil` for a fault.
  final var rowVersion: Int64? { pending.map { $0.base?.version ?? 0 } ?? row?.version }

  /// The loaded list of members from the store or the parent; `nil` if the list is not loaded or is out of date.
  final func loadedList(of relationship: RelationshipDescription) -> MemberList? {
    guard let list = collections?[relationship], list.generation == storage?.generation(of: relationship) ?? 0,
      !relationship.isOrdered || list.version == rowVersion
    else { return nil }
    return list
  }

  /// The members from the store or the parent, without this context's own changes. Loads the list.
  final func memberList(of relationship: RelationshipDescription) throws -> MemberList {
    // An ordered list belongs to a version of its owner's row. The row is read first, so that the list is never older
    // than the row.
    if relationship.isOrdered, storage != nil { try loadRow() }
    if let list = loadedList(of: relationship) { return list }
    var ids: [ManagedObjectID] = []
    // Both numbers are read before the list: the end of the read calls hooks, during which saves of other writers may
    // outdate the list.
    let version = rowVersion
    let current = storage?.generation(of: relationship) ?? 0
    if let context = managedObjectContext, pending?.kind != .inserted || context.parent != nil {
      ids = try context.storedMembers(of: relationship, owner: self)
    }
    return setMemberList(ids, of: relationship, version: version, generation: current)
  }

  /// Sets the loaded list of members from the store or the parent.
  ///
  /// - Parameters:
  ///   - version: The version of the owner's row at the read of the list; `nil` for the present version.
  ///   - generation: The generation of the relationship's lists at the read; `nil` for the present generation.
  @discardableResult
  final func setMemberList(
    _ ids: [ManagedObjectID], of relationship: RelationshipDescription, version: Int64? = nil,
    generation: Int? = nil
  ) -> MemberList {
    let list = MemberList(
      ids: ids, generation: generation ?? storage?.generation(of: relationship) ?? 0, version: version ?? rowVersion)
    collections = collections ?? [:]
    collections?[relationship] = list
    return list
  }

  /// Changes the members of this side of a relationship.
  final func changeMembers(of relationship: RelationshipDescription, _ edit: MemberEdit) throws {
    let record = try changeable()
    let isOrdered = relationship.isOrdered
    let isStored = try isStoredMember(revertedBy: edit, of: relationship)
    if let storage, storage.recordsUndo { try recordUndo(of: edit, relationship) }
    updateEffectiveMembers(of: relationship, before: edit, record)
    guard let storage else {
      return record.members[relationship, default: MemberChanges()].apply(edit, isOrdered: isOrdered)
    }
    let origin = listOrigin(of: relationship, record)
    let hadOrder = record.members[relationship]?.keepsPositions == false
    let below = isOrdered && edit.setsOrder ? loadedList(of: relationship)?.ids : nil
    storage.withPending {
      if isOrdered { storage.noteListChange() }
      if let origin { record.members[relationship, default: MemberChanges()].begin(at: origin) }
      record.members[relationship, default: MemberChanges()].apply(
        edit, isOrdered: isOrdered, isStored: isStored, below: below)
    }
    // Without the order, the members have the order of the loaded list, which another writer may have changed.
    if hadOrder, record.members[relationship]?.keepsPositions == true { collections?[relationship]?.effective = nil }
  }

  /// The state of an ordered list on which the next change of a saved record is based; `nil` if the record has recorded
  /// the state already.
  private final func listOrigin(of relationship: RelationshipDescription, _ record: PendingRecord) -> ListOrigin? {
    guard relationship.isOrdered, let base = record.base else { return nil }
    if let changes = record.members[relationship], !changes.isEmpty, changes.origin?.ids != nil { return nil }
    guard let list = collections?[relationship], list.version == base.version,
      list.generation == storage?.generation(of: relationship)
    else { return ListOrigin(version: base.version, ids: nil) }
    return ListOrigin(version: base.version, ids: list.ids)
  }

  /// Raises the version of loaded ordered lists after a save that did not change them. Lists of older versions stay out
  /// of date, because the changes in between are unknown.
  ///
  /// - Parameter changed: The relationships whose members the save changed.
  final func advanceLists(to version: Int64, except changed: Set<RelationshipDescription> = []) {
    for (relationship, list) in collections ?? [:]
    where relationship.isOrdered && list.version == version &- 1 && !changed.contains(relationship) {
      list.version = version
    }
    guard let storage, let pending, pending.hasMembers else { return }
    storage.withPending {
      for (relationship, changes) in pending.members
      where relationship.isOrdered && changes.origin?.version == version &- 1 && !changed.contains(relationship) {
        pending.members[relationship]?.move(toVersion: version, keepingMembers: true)
      }
    }
  }

  /// Adds a member and sets its inverse.
  final func insertMember(_ object: ManagedObject, into relationship: RelationshipDescription) throws {
    check()
    try checkCanRelate(object, to: relationship)
    if let inverse = relationship.inverse, !inverse.isToMany { return try object.setTarget(self, of: inverse) }
    guard try !hasMember(object.recordID, of: relationship) else { return }
    if let inverse = relationship.inverse { try object.loadSide(for: .add(recordID), of: inverse) }
    try changeMembers(of: relationship, .add(object.recordID))
    if let inverse = relationship.inverse { try object.addRelated(self, of: inverse) }
  }

  /// Removes a member and clears its inverse.
  final func removeMember(_ object: ManagedObject, from relationship: RelationshipDescription) throws {
    check()
    guard object.storage === storage else { return }
    // A record marked for deletion is not changed any more: its own side is deleted with it.
    let isDeleted = object.pending?.kind == .deleted
    if !isDeleted, let slot = relationship.inverse?.slot, object.entity.isKind(of: relationship.destination) {
      guard try object.loadedValue(at: slot) == .reference(recordID) else { return }
    } else {
      guard try hasMember(object.recordID, of: relationship) else { return }
    }
    if let inverse = relationship.inverse, !inverse.isToMany, !isDeleted {
      return try object.setTarget(nil, of: inverse)
    }
    if let inverse = relationship.inverse, !isDeleted { try object.loadSide(for: .remove(recordID), of: inverse) }
    try changeMembers(of: relationship, .remove(object.recordID))
    if let inverse = relationship.inverse, !isDeleted { try object.removeRelated(self, of: inverse) }
  }

  /// Makes objects the members of a to-many relationship, and sets and clears the inverses. An ordered relationship
  /// gets the order of the objects, in which a repeated object counts once, at its first position.
  final func replaceMembers(of relationship: RelationshipDescription, with objects: [ManagedObject]) throws {
    check()
    for object in objects { try checkCanRelate(object, to: relationship) }
    let wanted = Set(objects.map(\.recordID))
    let surplus = try memberIDs(of: relationship).filter { !wanted.contains($0) }
    // The removed members are loaded together, before their inverses are cleared.
    let former = surplus.isEmpty ? [] : try members(of: relationship)
    let formerOwners = try formerOwners(of: objects, in: relationship)
    defer { withExtendedLifetime((former, formerOwners)) {} }
    for id in surplus {
      try removeMember(try member(id, of: relationship), from: relationship)
    }
    for object in objects { try insertMember(object, into: relationship) }
    guard relationship.isOrdered else { return }
    var seen: Set<ManagedObjectID> = []
    try reorderMembers(of: relationship, objects.map(\.recordID).filter { seen.insert($0).inserted })
  }

  /// Sets the order of the members of an ordered relationship, which the caller has made the members.
  ///
  /// - Parameter order: Each member once.
  final func reorderMembers(of relationship: RelationshipDescription, _ order: [ManagedObjectID]) throws {
    guard try memberIDs(of: relationship) != order else { return }
    try changeMembers(of: relationship, .order(order))
  }
}
