/// The record that an inserted record became in a save, because both have the same unique values.
struct RecordJoin {
  /// The record that the change is written to: a stored record, or an inserted one of the same save.
  let id: ManagedObjectID
  /// The entity of that record: the entity of the inserted records, or one of its subentities.
  let entity: EntityDescription
  /// The changes of its to-many relationships, those of the inserted records among them.
  let members: [RelationshipDescription: MemberChanges]
}
