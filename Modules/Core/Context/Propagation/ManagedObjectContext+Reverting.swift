// Rollbacks and resets.

extension ManagedObjectContext {
  /// Drops all changes. Inserted objects leave the context; changed and deleted objects return to their saved state, as
  /// faults.
  ///
  /// The next notification of changed objects lists the inserted objects as deleted, and the others as refreshed.
  /// Undone and undoable changes leave the ``undoHistory``.
  ///
  /// Reads no store, and clears ``reportedErrors``. The cost grows with the number of registered objects. Changes that
  /// a save of this context has passed to its parent stay in the parent. Objects of a child that show a dropped change
  /// keep showing it until the child refreshes them. To be called inside the context.
  public final func rollback() {
    operating {
      storage.undo?.clear()
      // The objects must be read again in a later state, with the saves of other contexts.
      supersedeMainUnit()
      let deletedIDs = storage.vanished.edited
      turningIntoFaults(storage.records.compactMap(\.object)) { dropChanges() }
      rereadInChildren(deletedIDs)
    }
  }

  /// Drops all unsaved records, detaches the objects of inserted records, and makes faults of the others.
  private final func dropChanges() {
    var inserted: [ManagedObject] = []
    var savedObjects: [ManagedObject] = []
    for record in storage.records {
      guard let object = record.object else { continue }
      if record.base == nil, isUnchangedInParents(record.id) {
        inserted.append(object)
      } else {
        savedObjects.append(object)
      }
    }
    storage.untrackAll()
    storage.reports.removeAll()
    pendingSignals = []
    for object in inserted {
      object.flags.insert(.detached)
      object.collections = nil
      storage.unregister(object)
      events.noteDeleted(object)
    }
    for object in savedObjects {
      object.collections = nil
      object.row = nil
      object.keepExposedID()
      noteRefreshed(object)
    }
    var hasLists = false
    for object in storage.registry.all {
      if object.collections != nil { hasLists = true }
      object.collections = nil
      object.flags.remove(.unavailable)
    }
    // Lists of a context that does not follow its stores or its parent may have had other members.
    if hasLists, parent != nil || !showsSavesOfOthers { storage.touchEverything() }
  }

  /// Detaches all objects and drops all changes. Objects still in use belong to no context any more; their accessors
  /// return defaults. To be called inside the context.
  ///
  /// Reads no store, and clears ``reportedErrors``. Later fetches make new objects. The next notification of changed
  /// objects reports that everything may have changed.
  public final func reset() {
    operating {
      // Changes in the inbox are newer than a pinned state. They stay, because objects read from the pinned state
      // afterwards still need them.
      if lease.isPinned {
        resetContent(passingOn: .nothing)
      } else {
        // A child that reads a record before it is dropped must read its newer row too.
        inbox.applyContent { resetContent(passingOn: $0) }
      }
    }
  }

  /// Drops all changes and detaches all objects.
  ///
  /// - Parameter waiting: The removed content of the inbox.
  private final func resetContent(passingOn waiting: Inbox.Content) {
    lease.end()
    storage.undo?.clear()
    let objects = storage.registry.all
    let deletedIDs = storage.vanished.edited
    touchHiddenEdits(of: objects)
    turningIntoFaults(objects) { detachAll() }
    passOn(waiting)
    rereadInChildren(deletedIDs)
    storage.touchEverything()
    events.noteReset()
  }

  private final func detachAll() {
    let objects = storage.registry.all
    storage.resetCount += 1
    storage.untrackAll()
    pendingSignals = []
    storage.registry.removeAll()
    storage.retainedReads.removeAll()
    storage.groups.removeAll()
    storage.reports.removeAll()
    storage.vanished.missing = []
    // Children may save changes of records that they know by former identifiers.
    if !isParent { storage.withPending { storage.formerIDs = FormerIdentifiers() } }
    storage.exposedTemporaryIDs = []
    for object in objects {
      object.flags.insert(.detached)
      object.collections = nil
    }
  }
}
