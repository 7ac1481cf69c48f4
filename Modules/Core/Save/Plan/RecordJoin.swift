/// The record that inserted records with its unique values became, as a change of a save refers to it.
struct RecordJoin {
  /// The record that the change is written to: a stored record, or an inserted one of the same save.
  let id: ManagedObjectID
  /// The entity of that record: the entity of the inserted records, or one of its subentities.
  let entity: EntityDescription
  /// The changes of its to-many relationships, those of the inserted records among them.
  let members: [RelationshipDescription: MemberChanges]
}
