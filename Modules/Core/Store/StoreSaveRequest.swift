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
  /// The derived values to compute once the steps are taken, in the same transaction. Empty for a store that is not a
  /// ``RelationshipDeriving``.
  public var derivations: [DerivationUpdate] = []
  /// The channels to signal with the commit. Only a ``StoreSignaling`` store signals them; Core does for other stores.
  public var signals: Set<String> = []

  /// Makes a save from its steps and the checks of member counts.
  public init(steps: [SaveStep], memberCounts: [MemberCountCheck] = []) {
    self.steps = steps
    self.memberCounts = memberCounts
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
    /// Makes a failure from the conflicts of all rows of the save, so that one attempt of a merge policy resolves them.
    public init(conflicts: [StoreConflict]) { self.conflicts = conflicts }
  }
}
