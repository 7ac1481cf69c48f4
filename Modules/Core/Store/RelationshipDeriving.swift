/// A store that computes the values of ``RelationshipDerivation`` itself, in the transaction of a save.
///
/// For a store without the refinement, Core reads the owners and the members, and the save writes the owners' values under
/// the comparison of their versions: a save of another writer in between is a conflict that Core resolves by reading again.
/// Such a save also raises the versions of records that a path or a linked member's value is read from, because a concurrent
/// change of these could not know of the owner.
public protocol RelationshipDeriving: PersistentStore {
  /// Saves as ``PersistentStore/save(_:)`` does, and computes the request's ``StoreSaveRequest/derivations`` after its steps.
  ///
  /// An owner with another value than before gets it with the next version, in the same transaction. Concurrent saves that
  /// concern one owner, or records that its values are read from, are ordered, so that the later one reads the records of
  /// the earlier one.
  ///
  /// - Parameter committed: Called once after the commit, by the calling thread: with the states before and after the save
  ///   as a ``StateMarking`` store reports them, `nil` if they are not known, and with the new rows of the changed owners.
  /// - Throws: As ``PersistentStore/save(_:)``; ``ErrorCode/arithmeticOverflow`` for a sum that its type cannot hold.
  func save(_ request: StoreSaveRequest, derived committed: (StateChange?, [Row]) -> Void) throws
}
