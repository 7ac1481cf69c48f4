/// One step of a save's transaction: an operation on rows of one entity, or on links of one table.
///
/// A store executes the steps in order. The order satisfies constraints checked after each statement, so that no store
/// needs deferred constraints.
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
