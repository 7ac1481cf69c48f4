extension ManagedObjectContext {
  /// Makes a new object with the values of a snapshot, and inserts it.
  ///
  /// The object's entity is the entity of the snapshot's class. It gets an identifier of its own: the identifier of a
  /// snapshot names a record, and so it is `nil` in values for a new record. The identifier of a deleted
  /// record is accepted, and not used again. The snapshot's values replace the model's defaults, also those that
  /// `awakeFromInsert()` sets.
  ///
  /// ```swift
  /// let track = try context.insert(Track.Snapshot(isrc: "DEA100000001", title: "First"))
  /// ```
  /// - Throws: ``ErrorCode/objectExists`` when the snapshot names a record that exists; ``ErrorCode/storeDetached`` when
  ///   it names a record of another store; ``ErrorCode/snapshotMismatch`` when it names a record of another entity;
  ///   ``ErrorCode/objectNotFound`` and the other errors of ``ManagedObject/apply(_:)`` for values and targets;
  ///   ``ErrorCode/unknownEntity``, also for an abstract entity; ``ErrorCode/contextWithoutStore``. A call that throws
  ///   inserts nothing.
  @discardableResult
  public final func insert<S: EntitySnapshot>(_ snapshot: S) throws -> S.Object {
    try operating {
      let entity = try entity(for: S.Object.self)
      if let id = snapshot.objectID { try checkIsFree(id, for: entity) }
      let layout = try SnapshotLayout.of(S.self, in: entity)
      // Checks everything before the object is made and its `awakeFromInsert()` is called.
      var changes = SnapshotChanges(entity, in: self, store: nil)
      for (slot, value) in zip(layout.slots.dropFirst(), try snapshot.written(in: layout).values) {
        try changes.add(value, at: slot)
      }
      let object = try insertNewObject(forEntityName: entity.name)
      do {
        // Every value is written: a property without a default has no stored value yet, even where it reads as one.
        try object.write(changes)
      } catch {
        // A write fails, for example, for a target that `awakeFromInsert()` has deleted. The delete removes the object
        // from the context at once, because the object has no saved record.
        delete(object)
        try? applyPendingDeleteRules()
        throw error
      }
      // The layout has checked the class of the entity's objects.
      return unsafeDowncast(object, to: S.Object.self)
    }
  }

  /// Refuses the identifier of a record that exists, or that this context cannot know.
  private final func checkIsFree(_ id: ManagedObjectID, for entity: EntityDescription) throws {
    guard id.entity.root === entity.root else {
      throw CoherenceError(
        .snapshotMismatch,
        "The snapshot to be inserted is for '\(entity.name)', but its identifier is of '\(id.entity.name)'; "
          + "set its `objectID` to nil.")
    }
    let id = current(id)
    if id.isTemporaryID {
      guard let object = registeredObject(with: id), !object.isDeleted else { return }
    } else {
      do {
        _ = try existingObject(with: id)
      } catch let error as CoherenceError where error.isOfMissingRecord {
        return
      }
    }
    var error = CoherenceError(
      .objectExists,
      "The record of '\(entity.name)' that the snapshot names exists; apply the snapshot to its object, or set its "
        + "`objectID` to nil for a further record.")
    error.objectIDs = [id]
    throw error
  }
}
