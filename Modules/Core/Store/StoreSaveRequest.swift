/// One save: a list of steps that a store applies in order within one transaction.
///
/// The order of the steps is planned for engines that check foreign keys after each statement: such an engine sees no
/// violation unless one remains at the end. References to later records are written as null first and filled in by a
/// `fix`.
public struct StoreSaveRequest: Sendable {
  /// The steps in order.
  public var steps: [SaveStep]
  /// The numbers of members to check after the steps, in the same transaction, so that two concurrent saves cannot
  /// violate a bound together. See ``checkMemberCounts(in:count:)``.
  public var memberCounts: [MemberCountCheck]
  /// The derived values to compute after the steps, in the same transaction. Empty for a store without
  /// ``RelationshipDeriving``.
  public var derivations: [DerivationUpdate] = []
  /// The channels to signal with the commit. A ``StoreSignaling`` store signals them itself; Core signals for any other
  /// store.
  public var signals: Set<String> = []
  /// The link tables in which a deleted record must have no links but those that the steps remove. A further link, which
  /// another writer has added since Core read the links, is a conflict of the deleted record: derived values, numbers of
  /// members and deny rules depend on the link.
  package var comparedLinks: [LinkTable] = []

  /// Makes a save from its steps and the checks of member counts.
  public init(steps: [SaveStep], memberCounts: [MemberCountCheck] = []) {
    self.steps = steps
    self.memberCounts = memberCounts
  }
}

/// A row whose version in the store differs from the base version of the save.
public struct StoreConflict: Sendable {
  /// The identifier of the record.
  public var id: ManagedObjectID
  /// The present row in the store; `nil` if the record was deleted.
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
