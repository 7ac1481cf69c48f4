/// The decisions of a merge policy about a child's changes of records that are deleted in its parent: by the parent
/// itself, or in the store by another writer.
struct ParentConflicts {
  /// The values of the records that the save restores.
  private var restored: [ManagedObjectID: [AttributeValue]] = [:]
  /// The records whose changes the policy has discarded.
  private(set) var discarded: Set<ManagedObjectID> = []

  /// The values with which the save restores a record; `nil` for a record about which the policy has not decided so.
  func restoredValues(of id: ManagedObjectID) -> [AttributeValue]? { restored[id] }

  /// Has the policy of a child decide about its changes of deleted records.
  ///
  /// - Parameter mergesProperties: As ``MergePolicy/resolve(_:changed:mergesProperties:)``.
  /// - Throws: ``ErrorCode/versionConflict`` with the conflicts that the policy does not resolve; errors of the policy.
  mutating func decide(_ records: [PendingRecord], by policy: MergePolicy, mergesProperties: Bool) throws {
    var unresolved: [Conflict] = []
    for record in records {
      let conflict = Conflict(
        objectID: record.id, ancestor: RecordChange(record).ancestor,
        mine: record.kind == .deleted ? nil : record.snapshot, store: nil)
      switch try policy.resolve(conflict, changed: record.changed, mergesProperties: mergesProperties) {
      case .fail: unresolved.append(conflict)
      // As in a save into a store: a member is not restored only to give it a position.
      case .write(let values) where record.kind != .deleted && !record.changesPositionsOnly:
        restored[record.id] = values
      case .write, .delete, .discard: discarded.insert(record.id)
      }
    }
    guard unresolved.isEmpty else { throw CoherenceError.versionConflict(unresolved) }
  }
}

extension ManagedObjectContext {
  /// Has the merge policy of this context decide about records that are deleted in the parent.
  ///
  /// - Parameter deletedIDs: The deleted records.
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

  /// Drops the changes that the policy has discarded, after the parent has received the others.
  final func discard(_ discardedIDs: Set<ManagedObjectID>, among records: [PendingRecord]) {
    guard !discardedIDs.isEmpty else { return }
    for record in records where discardedIDs.contains(record.id) {
      discard(DiscardedChange(record: record, storeRow: nil))
    }
    forgetMembers(discardedIDs)
    rereadInChildren(discardedIDs)
  }

  /// Brings a record back that this context has deleted, or that no store has any more, for an edit of a child. A
  /// record without a stored row is a conflict when this context saves, and its own policy decides.
  ///
  /// - Parameter row: The child's base of the record.
  final func restore(_ row: Row) throws -> ManagedObject {
    if let object = storage.registry.object(for: row.id), object.pending?.kind == .deleted {
      try revertDelete(of: object)
      return object
    }
    let object = object(for: row)
    object.flags.subtract([.unavailable, .missing])
    storage.missing.remove(object.recordID)
    return object
  }

  /// Writes the values that a policy has given to a restored record, and that differ from the values of the child.
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
      let target = try? fault(for: id, of: relationship.destination)
      if let target, (try? target.loadRow()) != nil, isPresent(target) {
        try object.setTarget(target, of: relationship)
      } else {
        // The save of this context reports the dangling reference.
        try object.write(values[slot], at: slot)
      }
    }
  }
}
