extension EntitySnapshot {
  /// Takes a snapshot of an object: its values, with its unsaved changes. Loads a fault. Must be called where the
  /// object may be used.
  ///
  /// - Throws: ``ErrorCode/objectNotFound`` and ``ErrorCode/objectDeleted`` when the record cannot be loaded;
  ///   ``ErrorCode/snapshotMismatch``, ``ErrorCode/unknownProperty`` and ``ErrorCode/wrongType`` when the type does not
  ///   fit the object's entity; ``ErrorCode/wrongType`` for a coded value that does not decode; errors of the store.
  public init(_ object: Object) throws { self = try object.makeSnapshot() }
}

extension ManagedObject {
  /// Writes the values of a snapshot that differ from the object's. Loads a fault.
  ///
  /// The call writes no equal value, so that an equal value neither marks the object as changed nor overwrites another
  /// writer's newer value in a save. A snapshot without changes writes nothing. To-many relationships keep their
  /// members.
  ///
  /// - Parameter snapshot: Of this record, or with `nil` as its ``EntitySnapshot/objectID``.
  /// - Throws: ``ErrorCode/snapshotMismatch`` for the snapshot of another record or entity;
  ///   ``ErrorCode/objectNotFound``, ``ErrorCode/objectDeleted`` and ``ErrorCode/storeDetached`` for an unknown
  ///   target; ``ErrorCode/wrongType`` and ``ErrorCode/invalidValue``; ``ErrorCode/relationshipCrossesStores``;
  ///   ``ErrorCode/wrongContext`` for a target in an object without a context; errors of loading the record. A call that
  ///   throws leaves the object unchanged.
  public final func apply<S: EntitySnapshot>(_ snapshot: S) throws {
    check()
    if let other = snapshot.objectID, (managedObjectContext?.current(other) ?? other) != recordID {
      throw CoherenceError(
        .snapshotMismatch,
        "The snapshot is of another record than the object of '\(entity.name)'; apply it to the object with its "
          + "identifier, or set its `objectID` to nil first.")
    }
    try write(try changes(in: snapshot))
  }

  /// The object's values as a snapshot.
  ///
  /// - Throws: As `EntitySnapshot.init(_:)`.
  final func makeSnapshot<S: EntitySnapshot>() throws -> S {
    let (snapshot, failures) = try readSnapshot(S.self)
    if let failure = failures.first { throw failure.error }
    return snapshot
  }

  /// The object's values as a snapshot, with the coded values that do not decode.
  fileprivate final func readSnapshot<S: EntitySnapshot>(
    _ type: S.Type
  ) throws -> (snapshot: S, failures: [(index: Int, error: CoherenceError)]) {
    check()
    let layout = try SnapshotLayout.of(type, in: entity)
    try loadRow()
    let values = try layout.slots.map { slot in
      slot == Row.identifierSlot ? .reference(objectID) : handingOut(try loadedValue(at: slot))
    }
    return withUnsafeTemporaryAllocation(of: AttributeValue.self, capacity: values.count) { room in
      // Room for at least the identifier.
      let start = room.baseAddress!
      _ = room.initialize(from: values)
      var reader = SnapshotReader(start, layout)
      let snapshot = S(reading: &reader)
      reader.finish()
      return (snapshot, reader.failures)
    }
  }

  /// A value to be returned: the identifier of an unsaved target stays valid after its save.
  private final func handingOut(_ value: AttributeValue) -> AttributeValue {
    guard case .reference(let id) = value, id.isTemporaryID else { return value }
    managedObjectContext?.exposeTemporaryID(id)
    return value
  }

  // MARK: Changes

  /// The values of a snapshot that differ from the object's, checked.
  private final func changes<S: EntitySnapshot>(in snapshot: S) throws -> SnapshotChanges {
    let layout = try SnapshotLayout.of(S.self, in: entity)
    let (own, failures) = try readSnapshot(S.self)
    let new = try snapshot.written(in: layout)
    let old = try own.written(in: layout)
    let undecodable = Set(failures.map(\.index))
    var changes = SnapshotChanges(entity, in: managedObjectContext, store: storeIdentifier)
    for index in new.values.indices where !new.hasSameValue(as: old, at: index) || undecodable.contains(index + 1) {
      try changes.add(new.values[index], at: layout.slots[index + 1])
    }
    return changes
  }

  /// Makes the changes of a snapshot. A value that the object has already is no change.
  final func write(_ changes: SnapshotChanges) throws {
    for (relationship, target) in changes.targets { try setTarget(target, of: relationship) }
    for (slot, value) in changes.values { try write(value, at: slot) }
  }
}

extension EntitySnapshot {
  /// The values of the fields in their stored form.
  ///
  /// - Throws: ``ErrorCode/wrongType`` for a value that does not encode.
  func written(in layout: SnapshotLayout) throws(CoherenceError) -> SnapshotWriter {
    var writer = SnapshotWriter()
    write(to: &writer)
    if let failure = writer.failure { throw failure }
    Misuse.check(
      writer.values.count == layout.slots.count - 1,
      "\(Self.self) writes another number of values than it has fields; write each field once, in the order of `fields`."
    )
    return writer
  }
}
