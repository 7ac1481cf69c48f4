extension ManagedObjectID {
  /// Orders otherwise equal records: saved records by key, then unsaved records in the order of insertion. A strict
  /// order of all identifiers.
  static func precedes(_ left: ManagedObjectID, _ right: ManagedObjectID) -> Bool {
    if left.isTemporaryID != right.isTemporaryID { return right.isTemporaryID }
    if left.key != right.key { return left.key < right.key }
    // Keys of different hierarchies and stores may be the same.
    if left.entity.position != right.entity.position { return left.entity.position < right.entity.position }
    if left.space === right.space { return false }
    return (left.storeIdentifier?.rawValue ?? "") < (right.storeIdentifier?.rawValue ?? "")
  }
}
