/// The decisions of a merge policy about a child's changes of deleted records: records that the parent has deleted, or
/// another writer in the store. Made for one save of the child, and passed to the parent with the changes.
struct ParentConflicts {
  /// The values of the records that the parent restores, by the policy.
  private var restored: [ManagedObjectID: [AttributeValue]] = [:]
  /// The records whose changes the policy has discarded.
  private(set) var discarded: Set<ManagedObjectID> = []

  /// The values with which the parent restores a record; `nil` for a record without this decision.
  func restoredValues(of id: ManagedObjectID) -> [AttributeValue]? { restored[id] }

  /// Asks the policy of a child about its changes of deleted records, and keeps the decisions.
  ///
  /// - Parameters:
  ///   - records: The child's unsaved records that are deleted in the parent.
  ///   - mergesProperties: As for ``MergePolicy/resolve(_:changed:mergesProperties:)``.
  /// - Throws: ``ErrorCode/versionConflict`` with the conflicts that the policy does not resolve; errors of the policy.
  mutating func decide(_ records: [PendingRecord], by policy: MergePolicy, mergesProperties: Bool) throws {
    var unresolved: [Conflict] = []
    for record in records {
      let conflict = Conflict(
        objectID: record.id, ancestor: RecordChange(record).ancestor,
        mine: record.kind == .deleted ? nil : record.snapshot, store: nil)
      switch try policy.resolve(conflict, changed: record.changed, mergesProperties: mergesProperties) {
      case .fail: unresolved.append(conflict)
      // As in a save into a store: a delete restores nothing, and no member is restored only to give it a position.
      case .write(let values) where record.kind != .deleted && !record.changesPositionsOnly:
        restored[record.id] = values
      case .write, .delete, .discard: discarded.insert(record.id)
      }
    }
    guard unresolved.isEmpty else { throw CoherenceError.versionConflict(unresolved) }
  }
}

extension ManagedObjectContext {
  /// Asks the merge policy of this context, a child, about its changes of records that its parent refuses as deleted.
  /// Runs on the child's thread, outside of the parent, because the closure of a policy may read in the child.
  ///
  /// - Parameters:
  ///   - deletedIDs: The deleted records.
  ///   - records: The records of the save.
  /// - Throws: As ``ParentConflicts/decide(_:by:mergesProperties:)``; ``ErrorCode/illegalState`` for a closure that
  ///   changes objects.
  final func resolve(
    _ deletedIDs: Set<ManagedObjectID>, among records: [PendingRecord], in conflicts: inout ParentConflicts
  ) throws {
    let policy = mergePolicy
    let mergesProperties = showsSavesOfOthers
    let conflicting = records.filter { deletedIDs.contains($0.id) }
    guard policy.isCustom else {
      return try conflicts.decide(conflicting, by: policy, mergesProperties: mergesProperties)
    }
    try refusingChanges(counting: { records.count(where: \.isTracked) }) {
      try conflicts.decide(conflicting, by: policy, mergesProperties: mergesProperties)
    }
  }

  /// Drops the changes of this context, a child, that its policy has discarded. Called after the parent has received
  /// the other changes.
  final func discard(_ discardedIDs: Set<ManagedObjectID>, among records: [PendingRecord]) {
    guard !discardedIDs.isEmpty else { return }
    for record in records where discardedIDs.contains(record.id) {
      discard(DiscardedChange(record: record, storeRow: nil))
    }
    forgetMembers(discardedIDs)
    rereadInChildren(discardedIDs)
  }

  /// Restores a record in this context, a parent, for an edit of a child: reverts the delete by this context, or makes
  /// an object of a record that no store has any more. The save of this context reports a record without a stored row
  /// as a conflict, about which its own policy decides.
  ///
  /// - Parameter row: The child's base of the record.
  /// - Returns: The object, to which the child's edit then applies.
  final func restore(_ row: Row) throws -> ManagedObject {
    if let object = storage.registry.object(for: row.id), object.pending?.kind == .deleted {
      try revertDelete(of: object)
      return object
    }
    let object = object(for: row)
    object.flags.subtract([.unavailable, .missing])
    storage.vanished.missing.remove(object.recordID)
    return object
  }

  /// Loads the targets that a child's policy gives to a record, before the record is restored: a read that fails later
  /// would leave the child's save half received.
  ///
  /// - Parameter values: The values of the policy.
  /// - Returns: The loaded objects, for the caller to retain.
  /// - Throws: Errors of the store.
  final func loadTargets(
    in values: [AttributeValue], restoring record: PendingRecord
  ) throws -> [ManagedObject] {
    var loaded: [ManagedObject] = []
    for slot in record.entity.referenceSlots where slot < values.count && values[slot] != record[slot] {
      guard case .reference(let id) = values[slot], case .reference(let relationship) = record.entity.slots[slot] else {
        continue
      }
      do {
        let target = try fault(for: id, of: relationship.destination)
        try target.loadRow()
        loaded.append(target)
        guard let inverse = relationship.inverse, let inverseSlot = inverse.slot else { continue }
        // In a one-to-one relationship, the target leaves its partner.
        let partner = try target.loadedPartner(try target.loadedValue(at: inverseSlot), of: inverse)
        if let partner { loaded.append(partner) }
      } catch let error as CoherenceError where error.isOfMissingRecord {
        // The record does not exist, or the child has inserted it, and this context has no object of it yet.
      }
    }
    return loaded
  }

  /// Writes the values by which a child's policy restores a record into the object of this context, a parent, as far as
  /// they differ from the child's values, which the object has already.
  final func write(_ values: [AttributeValue], of record: PendingRecord, to object: ManagedObject) throws {
    let mine = record.snapshot
    for slot in values.indices where slot < mine.count && values[slot] != mine[slot] {
      guard case .reference(let relationship) = object.entity.slots[slot] else {
        try object.write(values[slot], at: slot)
        continue
      }
      guard case .reference(let id) = values[slot] else {
        try object.setTarget(nil, of: relationship)
        continue
      }
      // The target was loaded before the restore, or was inserted by the child.
      if let target = storage.registry.object(for: current(id)), target.isLoaded, isPresent(target) {
        try object.setTarget(target, of: relationship)
      } else {
        // The save of this context reports the dangling reference.
        try object.write(values[slot], at: slot)
      }
    }
  }
}
