// The identifiers of records that saves replace, between a parent and its children. A parent notes each replaced
// identifier, because a child may still know it. A child looks its identifiers up in the notes of its parents when a
// parent has saved. The parent drops the notes that no child needs any more: a long-lived parent, such as the view of
// nested contexts, would keep a note for each record that it ever inserted.

extension ManagedObjectContext {
  /// Drops the older notes when the notes exceed a bound and no child may still need them. Does nothing during a save,
  /// whose identifiers the children receive only at its end.
  final func dropFormerIDs() {
    // A child without unapplied changes refers to present identifiers only.
    guard storage.formerIDs.isAboveBound, storage.saveNumber.value != nil, !hasWaitingDescendant else { return }
    storage.withPending { storage.formerIDs.dropUnexposed() }
  }

  /// Whether a child, or a child of a child, has unapplied changes in its inbox.
  private final var hasWaitingDescendant: Bool {
    children.contains { $0.inbox.hasUnapplied || $0.hasWaitingDescendant }
  }

  /// Gives objects the permanent identifiers from a save of a farther parent, such as the parent's parent, while the
  /// parent has not processed the save and passed the identifiers on. A read finds the saved record under its permanent
  /// identifier, and would make a second object beside the object with the temporary identifier.
  ///
  /// Called before each processing of the inbox, and so at the beginning of a unit of work. Costs nothing while the
  /// parents have applied all posted changes, otherwise one pass over the registered objects.
  final func applyIdentifiersOfFartherParents() {
    // Counted before the inbox is read, so that the next read notices a save that ends in between.
    lease.seenSavesOfParents = savesOfParents
    guard lease.seenSavesOfParents != nil, isBehindFartherParents else { return }
    applyIdentifiersOfParents()
  }

  /// Has the next read see the saves that parents have made since the beginning of the unit of work. Called before the
  /// reads of an operation, for a context with a parent.
  ///
  /// A child's read overlays the unsaved changes of its parents over one state of the store. After a save of a parent,
  /// its changes are not unsaved any more, and are missing in the older state of the store: the read would find them
  /// nowhere. So this function ends the state. It also replaces temporary identifiers, because the next read finds the
  /// saved records under their permanent identifiers, and would make second objects. The objects in use show the save's
  /// values when the context merges the save.
  ///
  /// The cost grows with the number of parents. The first call after a save costs one pass over the registered objects.
  @inline(never) final func followSavesOfParents() {
    // Until a running save of a parent posts its changes, the child has nothing to follow.
    guard let saves = savesOfParents, saves != lease.seenSavesOfParents, !inbox.isEmpty || isBehindFartherParents
    else { return }
    // Neither a snapshot nor an operation that reads changes its state. A save must find its records as it has gathered
    // them.
    guard !lease.isPinned, storage.loads.depth == 0, storage.saveNumber.value != nil else { return }
    lease.seenSavesOfParents = saves
    lease.end()
    applyIdentifiersOfParents()
  }

  /// The number of beginnings and ends of saves in all parents so far; `nil` without a parent.
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

  /// Looks all identifiers that the context knows up in the notes of its parents, and gives objects and references the
  /// present identifiers.
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
      // The references of changed objects are among the partners of the unsaved records.
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
