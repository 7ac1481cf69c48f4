/// The column of members that refers to their owner.
struct MemberColumn {
  let entity: EntityDescription
  let inverse: RelationshipDescription
  /// The slot of the position in an ordered relationship.
  let positionSlot: Int?

  /// The position that a row has; `nil` for none.
  func position(of row: Row) -> Int64? {
    if let positionSlot, case .int(let position) = row[positionSlot] { position } else { nil }
  }
}
