package import CoherenceCore

/// Decides which records stay although the delete rule of a superfluous record reaches them, beside the records of the
/// input and of its links. Used by one save, on the thread of its context.
package protocol CascadeProtection {
  /// Whether records of an entity or of its subentities can be protected. Asked before any record is read.
  func covers(_ entity: EntityDescription) -> Bool

  /// Returns the protected records.
  ///
  /// - Parameter rows: Rows of records that a delete rule reaches and no input record has as its own.
  func protectedIDs(among rows: [Row]) throws -> Set<ManagedObjectID>

  /// Receives the effect of all delete rules, before the deletions.
  ///
  /// - Parameters:
  ///   - kept: The records that stay although a delete rule reaches them, and the owners that stay with them.
  ///   - deleted: The superfluous records that will be deleted, and the records that their delete rules delete.
  ///   - owners: The superfluous records that stay.
  func note(kept: Set<ManagedObjectID>, deleted: Set<ManagedObjectID>, owners: Set<ManagedObjectID>)
}
