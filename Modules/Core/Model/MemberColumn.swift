/// The column in the rows of members that refers to their owner, for a to-many relationship with a to-one inverse.
struct MemberColumn {
  /// The entity that declares the inverse.
  let entity: EntityDescription
  /// The to-one relationship from the members to their owner.
  let inverse: RelationshipDescription
  /// The slot of the position in an ordered relationship.
  let positionSlot: Int?

  /// The position that a row has; `nil` for none.
  func position(of row: Row) -> Int64? {
    if let positionSlot, case .int(let position) = row[positionSlot] { position } else { nil }
  }
}
