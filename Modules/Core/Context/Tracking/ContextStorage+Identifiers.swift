// The present identifiers of records whose identifiers a save or a parent has replaced.

extension ContextStorage {
  /// Makes a former identifier of a record lead to the present one.
  func noteIdentifier(_ id: ManagedObjectID, of former: ManagedObjectID) {
    withPending {
      if former.isTemporaryID { permanentIDs[former] = id } else { joinedIDs[former] = id }
    }
  }

  /// The present identifiers by the former ones. May be read on any thread.
  var replacedIDs: [ManagedObjectID: ManagedObjectID] {
    let (permanent, joined) = withPending { (permanentIDs, joinedIDs) }
    guard !joined.isEmpty else { return permanent }
    return permanent.mapValues { joined[$0] ?? $0 }.merging(joined) { first, _ in first }
  }
}
