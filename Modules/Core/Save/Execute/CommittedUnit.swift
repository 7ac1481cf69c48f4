/// A unit of work as a store has committed it.
struct CommittedUnit {
  /// The unit, with the changes as the merge policy resolved them.
  let unit: UnitOfWork
  let permanentIDs: PermanentIDs
  /// The changes that the merge policy discarded.
  let discarded: [DiscardedChange]
  /// The relationships whose lists in the context are out of date, because a merge or a join changed the saved lists.
  let outdatedLists: Set<RelationshipDescription>
  /// The inserted records whose changes are a part of another record's change.
  let absorbed: [JoinedRecords.Absorbed]
  /// The records that participants added.
  let added: ParticipantRecords
  /// The rows whose derived values the save changed, rows of the unit included, at their new versions.
  let derived: [Row]
  /// Rows of records outside of the unit: partners in one-to-one relationships of records about which the policy has
  /// decided. Unchanged objects of the context show former rows.
  let partnerRows: [Row]
}

/// The changes of a record that a merge policy discards.
struct DiscardedChange {
  let record: PendingRecord
  /// The row that the store has; `nil` when the record is deleted there.
  let storeRow: Row?
}
