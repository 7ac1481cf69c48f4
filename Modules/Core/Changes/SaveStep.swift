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
