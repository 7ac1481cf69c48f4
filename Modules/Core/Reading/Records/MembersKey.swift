/// A relationship of an owner, as the key of the owner's members in a dictionary.
struct MembersKey: Hashable {
  let relationship: RelationshipDescription
  let owner: ManagedObjectID
}
