/// One save: a list of steps that a store applies in order within one transaction.
///
/// The steps are planned so that an engine that checks foreign keys at once never sees a violation unless one remains
/// at the end: references to later records are written null first and filled in by a `fix`.
public struct StoreSaveRequest: Sendable {
  /// The steps in order.
  public var steps: [SaveStep]
  /// The numbers of members to check once the steps are taken, in the same transaction, so that concurrent saves cannot
  /// violate a bound together. See ``checkMemberCounts(in:count:)``.
  public var memberCounts: [MemberCountCheck]

  /// Makes a save from its steps and the checks of member counts.
  public init(steps: [SaveStep], memberCounts: [MemberCountCheck] = []) {
    self.steps = steps
    self.memberCounts = memberCounts
  }
}

/// A step of a save.
public enum SaveStep: Sendable {
  /// Removes links, found by source and target; a missing link is no error.
  case unlink(LinkTable, [Link])
  /// Sets slots of rows without comparing or changing the version: slots cleared before deletes and swaps, and
  /// references filled in after inserts.
  case fix(EntityDescription, slots: SlotSet, [Row])
  /// Removes rows that must be at their base versions.
  case delete(EntityDescription, [RowDelete])
  /// Adds rows, all of one entity, at the versions that they have.
  case insert(EntityDescription, [Row])
  /// Writes the given slots and the new version of rows that must be at their base versions.
  case update(EntityDescription, slots: SlotSet, [RowUpdate])
  /// Adds links. An existing link gets the given positions and keeps its other positions.
  case link(LinkTable, [Link])
}

/// The new state of a row.
public struct RowUpdate: Sendable {
  /// The whole row at its new version.
  public var row: Row
  /// The version that the store must have.
  public var baseVersion: Int64
  /// Makes an update of a row that must be at a base version.
  public init(row: Row, baseVersion: Int64) {
    self.row = row
    self.baseVersion = baseVersion
  }
}

/// A row to remove.
public struct RowDelete: Sendable {
  /// The identifier of the record.
  public var id: ManagedObjectID
  /// The version that the store must have.
  public var baseVersion: Int64
  /// Makes a delete of a record that must be at a base version.
  public init(id: ManagedObjectID, baseVersion: Int64) {
    self.id = id
    self.baseVersion = baseVersion
  }
}

/// A row whose version in the store is not the base version of the save.
public struct StoreConflict: Sendable {
  /// The identifier of the record.
  public var id: ManagedObjectID
  /// The present row of the store; `nil` if it was deleted.
  public var storeRow: Row?
  /// Makes a conflict from the present row of the store.
  public init(id: ManagedObjectID, storeRow: Row?) {
    self.id = id
    self.storeRow = storeRow
  }

  /// Every conflict of a failed save.
  public struct Failure: Error, Sendable {
    /// The conflicts, one for each row.
    public var conflicts: [StoreConflict]
    public init(conflicts: [StoreConflict]) { self.conflicts = conflicts }
  }
}
