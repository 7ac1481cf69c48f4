/// One save, as a list of steps to take in order within one transaction.
///
/// The steps are planned so that an engine that checks foreign keys at once never sees a violation unless one remains
/// at the end: references to later records are written null first and filled in by a `fix`.
public struct StoreSaveRequest: Sendable {
  public var steps: [SaveStep]
  /// The numbers of members to check once the steps are taken, in the same transaction, so that saves at the same time
  /// cannot break a bound together. See ``checkMemberCounts(in:count:)``.
  public var memberCounts: [MemberCountCheck]

  public init(steps: [SaveStep], memberCounts: [MemberCountCheck] = []) {
    self.steps = steps
    self.memberCounts = memberCounts
  }
}

public enum SaveStep: Sendable {
  /// Removes links, found by source and target; a missing link is no error.
  case unlink(LinkTable, [Link])
  /// Sets slots of rows whose version is not looked at and not changed: slots cleared before deletes and swaps, and
  /// references filled in after inserts.
  case fix(EntityDescription, slots: SlotSet, [Row])
  /// Removes rows at the version given.
  case delete(EntityDescription, [RowDelete])
  /// Adds rows, all of one entity, at their version.
  case insert(EntityDescription, [Row])
  /// Writes the slots given, and the new version, of rows at the version that the update is based on.
  case update(EntityDescription, slots: SlotSet, [RowUpdate])
  /// Adds links; an existing link gets the positions given, and keeps the others.
  case link(LinkTable, [Link])
}

/// A row's new state.
public struct RowUpdate: Sendable {
  /// The whole row at its new version.
  public var row: Row
  /// The version that the store must have.
  public var baseVersion: Int64
  public init(row: Row, baseVersion: Int64) {
    self.row = row
    self.baseVersion = baseVersion
  }
}

/// A row to remove.
public struct RowDelete: Sendable {
  public var id: ManagedObjectID
  /// The version that the store must have.
  public var baseVersion: Int64
  public init(id: ManagedObjectID, baseVersion: Int64) {
    self.id = id
    self.baseVersion = baseVersion
  }
}

/// A row that a save found at another version than it is based on.
public struct StoreConflict: Sendable {
  public var id: ManagedObjectID
  /// The row as the store has it; `nil` when it was deleted.
  public var storeRow: Row?
  public init(id: ManagedObjectID, storeRow: Row?) {
    self.id = id
    self.storeRow = storeRow
  }

  /// Every conflict of a failed save.
  public struct Failure: Error, Sendable {
    public var conflicts: [StoreConflict]
    public init(conflicts: [StoreConflict]) { self.conflicts = conflicts }
  }
}
