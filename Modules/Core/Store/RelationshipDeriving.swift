/// A store that computes the values of ``RelationshipDerivation`` itself, in the transaction of a save.
///
/// For a store without the refinement, Core reads the owners and the members, and the save writes the owners' values
/// with a comparison of their versions. Another writer's save in between is a conflict, after which Core reads again.
/// Such a save also raises the versions of records at the end of a path or a link, because a concurrent change of these
/// records does not know the owner.
public protocol RelationshipDeriving: PersistentStore {
  /// Saves as ``PersistentStore/save(_:)`` does, and computes the request's ``StoreSaveRequest/derivations`` after its
  /// steps.
  ///
  /// An owner whose value changes gets the new value and the next version in the same transaction. Concurrent saves
  /// that concern the same owner, or records on which its values depend, are serialized, so that the later save reads
  /// the records of the earlier save.
  ///
  /// - Parameter committed: Called once after the commit, by the calling thread: with the states before and after the
  ///   save as a ``StateMarking`` store reports them, `nil` if they are not known, and with the new rows of the changed
  ///   owners.
  /// - Throws: As ``PersistentStore/save(_:)``; ``ErrorCode/arithmeticOverflow`` for a sum out of the range of its
  ///   type.
  func save(_ request: StoreSaveRequest, derived committed: (StateChange?, [Row]) -> Void) throws
}
