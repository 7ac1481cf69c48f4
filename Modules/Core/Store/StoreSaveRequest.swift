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
