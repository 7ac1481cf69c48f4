extension CoherenceError {
  /// The error of a save in which a relationship would refer to a deleted record, for stores.
  ///
  /// - Parameter objectIDs: The record with the reference, and the missing record.
  package static func danglingReference(
    _ relationship: RelationshipDescription, _ objectIDs: [ManagedObjectID] = []
  ) -> CoherenceError {
    var error = CoherenceError(
      .danglingReference,
      "'\(relationship.entity.name).\(relationship.name)' would refer to a record that does not exist any more; "
        + "refresh the related objects and save again.")
    error.objectIDs = objectIDs
    return error
  }
}
