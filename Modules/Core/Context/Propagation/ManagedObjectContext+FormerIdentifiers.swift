// A parent notes each replaced temporary identifier, because its children may know the identifier. A long-lived parent,
// such as the view of nested contexts, would otherwise note one for each inserted record, for ever.

extension ManagedObjectContext {
  /// Drops former identifiers above a bound, unless a child may still need them. Does nothing during a save, which posts
  /// its identifiers at its end.
  final func dropFormerIDs() {
    // A child that has applied all posted changes refers to no former identifier any more.
    guard storage.formerIDs.isAboveBound, storage.saveNumber.value != nil, !hasWaitingDescendant else { return }
    storage.withPending { storage.formerIDs.dropUnexposed() }
  }

  /// Whether a child, or a child of a child, has not applied all changes that were posted to it.
  private final var hasWaitingDescendant: Bool {
    children.contains { $0.inbox.hasUnapplied || $0.hasWaitingDescendant }
  }

  /// Gives objects the permanent identifiers of a farther parent's records, which the parent has not passed on yet. A
  /// read of such a record would make a second object.
  ///
  /// Called at the beginning of a unit of work. Costs nothing while the parents have applied all posted changes,
  /// otherwise one pass over the registered objects.
  final func applyIdentifiersOfFartherParents() {
    // Before the inbox is read, so that the next read notices a save in between.
    lease.seenSavesOfParents = savesOfParents
    guard lease.seenSavesOfParents != nil, isBehindFartherParents else { return }
    applyIdentifiersOfParents()
  }

  /// Follows the saves that parents have made since the beginning of the unit of work. Called before the reads of an
  /// operation, for a context with a parent.
  ///
  /// The saved changes are no unsaved changes of the parents any more, and the state that the unit has read does not have
  /// them: the next read begins another state. It would make second objects of records that the context knows by
  /// temporary identifiers. The objects show the save's values when the context merges the save.
  ///
  /// The cost grows with the number of parents. The first call after a save costs one pass over the registered objects.
  @inline(never) final func followSavesOfParents() {
    guard let saves = savesOfParents, saves != lease.seenSavesOfParents, !inbox.isEmpty || isBehindFartherParents
    else { return }
    // Neither a snapshot nor an operation that reads changes its state. A save must find its records as it has gathered
    // them.
    guard !lease.isPinned, storage.loads.depth == 0, storage.saveNumber.value != nil else { return }
    lease.seenSavesOfParents = saves
    lease.end()
    applyIdentifiersOfParents()
  }

  /// The number of beginnings and ends of the parents' saves; `nil` without a parent.
  private final var savesOfParents: Int? {
    guard let parent else { return nil }
    var number = 0
    var ancestor: ManagedObjectContext? = parent
    while let context = ancestor {
      number &+= context.storage.saveNumber.count
      ancestor = context.parent
    }
    return number
  }

  /// Whether a parent has not applied all changes of a farther parent.
  private final var isBehindFartherParents: Bool {
    var ancestor = parent
    while let context = ancestor, let farther = context.parent {
      if context.inbox.hasUnapplied { return true }
      ancestor = farther
    }
    return false
  }

  /// Gives objects and references the present identifiers of the parents' records.
  private final func applyIdentifiersOfParents() {
    let formerIDs = ancestors.map { ancestor in ancestor.storage.withPending { ancestor.storage.formerIDs } }
    let objects = storage.registry.all
    var permanentIDs: [ManagedObjectID: ManagedObjectID] = [:]
    func note(_ id: ManagedObjectID) {
      let current = formerIDs.reduce(id) { $1.current($0) }
      if current != id { permanentIDs[id] = current }
    }
    for object in objects {
      note(object.recordID)
      guard object.pending == nil, let row = object.row else { continue }
      for slot in object.entity.referenceSlots { if case .reference(let id) = row[slot] { note(id) } }
    }
    for record in storage.records { for id in record.partners { note(id) } }
    guard !permanentIDs.isEmpty else { return }
    let referring = replaceIdentifiers(permanentIDs)
    replaceReferences(permanentIDs, inRowsOf: objects)
    // The unsaved records of a parent refer to the temporary identifiers until the parent follows the save.
    storage.withPending {
      for (former, id) in permanentIDs { storage.formerIDs.note(id, of: former, isExposed: false) }
    }
    // The later pass of the inbox finds no reference to a former identifier any more.
    if isParent { postToChildren(permanentIDs, referring: referring) }
  }

  /// Replaces identifiers in the rows of unchanged objects, which keep these rows until the context merges the save.
  private final func replaceReferences(
    _ permanentIDs: [ManagedObjectID: ManagedObjectID], inRowsOf objects: [ManagedObject]
  ) {
    for object in objects where object.pending == nil {
      guard var row = object.row else { continue }
      var isReferring = false
      for slot in object.entity.referenceSlots {
        guard case .reference(let id) = row[slot], let permanent = permanentIDs[id] else { continue }
        row.set(.reference(permanent), at: slot)
        isReferring = true
      }
      if isReferring { object.row = row }
    }
  }
}
