// Reads and writes of an object's values by slot, for accessors and the framework.

extension ManagedObject {
  /// The value of a slot. Loads the record if the object is a fault.
  @inline(__always) final func loadedValue(at slot: Int) throws -> AttributeValue {
    if let pending { return pending[slot] }
    if let row { return row[slot] }
    return try withExtendedLifetime(self) { try loadedAddress(at: slot).pointee }
  }

  /// The address of the value of a slot. Loads the record if the object is a fault; `awakeFromFetch` may have changed the
  /// object then. Valid until the object changes or is released, because the object retains the row or the draft.
  @inline(never) final func loadedAddress(at slot: Int) throws -> UnsafePointer<AttributeValue> {
    try loadRow()
    guard let current = pending?.draft ?? row else { throw deletedError() }
    return current.valueAddress(at: slot)
  }

  /// Marks the object as unavailable after a failure of an accessor, and reports the failure. An object without a context
  /// keeps the failure of an assignment for its insertion.
  ///
  /// - Parameter losesChange: Whether the accessor was an assignment.
  final func becomeUnavailable(_ error: any Error, losesChange: Bool = false) {
    flags.insert(.unavailable)
    if storage == nil, losesChange { return UninsertedGraph.noteLostChange(of: self, error) }
    let report = vanishedRecord(error, losesChange ? "ignored an assignment" : "returned a default") ?? error
    storage?.context?.report(report, for: self, losesChange: losesChange)
  }

  /// The report of an accessor's failure caused by another writer's delete; `nil` for another failure.
  private final func vanishedRecord(_ error: any Error, _ outcome: String) -> CoherenceError? {
    guard let cause = error as? CoherenceError else { return nil }
    let isDeletedElsewhere = cause.objectIDs == [recordID] && flags.isSuperset(of: [.detached, .deleted])
    guard cause.code == .objectNotFound || cause.code == .objectDeleted && isDeletedElsewhere else { return nil }
    let name = cause.objectIDs.first?.entity.name ?? entity.name
    var report = CoherenceError(
      .recordVanished,
      "A record of '\(name)' does not exist any more, and an accessor of an object of '\(entity.name)' \(outcome); "
        + "refresh the object, or use `load()`, which throws.",
      underlying: cause)
    report.objectIDs = cause.objectIDs
    return report
  }

  /// Reports that another writer deleted the target of a relationship.
  final func reportVanishedTarget(_ cause: CoherenceError, of relationship: String) {
    var report = CoherenceError(
      .recordVanished,
      "The record that '\(entity.name).\(relationship)' leads to does not exist any more, and the accessor returned nil; "
        + "refresh the object, or use `object(for:)`, which throws.",
      underlying: cause)
    report.objectIDs = cause.objectIDs
    storage?.context?.report(report, for: self, losesChange: false)
  }

  /// Loads the record's row into a fault.
  final func loadRow() throws {
    guard row == nil, pending == nil else { return }
    guard let context = managedObjectContext else { throw deletedError() }
    try context.fire(self)
  }

  /// The error for an object whose record was deleted or does not exist.
  final func deletedError() -> CoherenceError {
    var error =
      flags.contains(.detached) || pending?.kind == .deleted
      ? CoherenceError(.objectDeleted, "The object of '\(entity.name)' was deleted, or its context was reset.")
      : CoherenceError(.objectNotFound, "The record of '\(entity.name)' does not exist any more.")
    error.objectIDs = [recordID]
    return error
  }

  /// The record of unsaved changes, made by the first change.
  ///
  /// - Throws: ``ErrorCode/objectDeleted``, and errors of loading the record.
  final func changeable() throws -> PendingRecord {
    // Loaded first, because `awakeFromFetch` may change or delete the object.
    if pending == nil, row == nil, storage != nil, !flags.contains(.detached) { try loadRow() }
    if let pending {
      guard pending.kind != .deleted else { throw deletedError() }
      storage?.noteChange(pending)
      return pending
    }
    guard let storage, !flags.contains(.detached), let row else { throw deletedError() }
    let record = PendingRecord(changing: row)
    record.object = self
    storage.track(record)
    pending = record
    return record
  }

  /// Writes a checked value into a slot.
  final func write(_ value: AttributeValue, at slot: Int) throws {
    check()
    if pending == nil, try loadedValue(at: slot) == value { return }
    let record = try changeable()
    guard let storage else {
      record.set(value, at: slot)
      return
    }
    if storage.recordsUndo, record[slot] != value { recordUndo(of: slot, before: record[slot]) }
    storage.withPending { record.set(value, at: slot) }
  }
}

// MARK: - Bulk

extension ManagedObject {
  /// The value of a slot.
  ///
  /// - Throws: Errors of loading the record.
  package final func value(at slot: Int) throws -> AttributeValue {
    check()
    return try loadedValue(at: slot)
  }

  /// Sets the attribute in a slot to a checked value.
  ///
  /// - Throws: As ``setAttributeValue(_:for:)``.
  package final func setCheckedValue(_ value: AttributeValue, at slot: Int) throws { try write(value, at: slot) }
}
