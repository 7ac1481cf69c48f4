import CoherenceCore

/// The table with a row for each member of each owner of a to-many relationship, and its columns.
struct MemberTable {
  let name: String
  /// The column of the owner.
  let owner: String
  /// The column of the member; `nil` where the table is the members' own.
  let member: String?
  /// The column of the member's position in the owner's list.
  let position: String?
}

extension SQLSchema {
  /// Returns the table of a relationship's members; `nil` for a to-one relationship, and where the members' table has
  /// no column of the owner.
  ///
  /// - Throws: ``ErrorCode/noStore`` when the store does not hold the members or one end of the links.
  func memberTable(of relationship: RelationshipDescription) throws -> MemberTable? {
    switch relationship.storage {
    case .column: return nil
    case .inverseColumn(let inverse, let positionSlot):
      let table = try requireTable(for: inverse.entity)
      guard let column = table.column(of: inverse) else { return nil }
      return MemberTable(
        name: table.name, owner: column.name, member: nil,
        position: positionSlot.map { table.column($0, of: inverse.entity).name })
    case .links(let links, let isForward):
      let table = try requireLinkTable(links)
      return MemberTable(
        name: table.name, owner: isForward ? table.source : table.target,
        member: isForward ? table.target : table.source,
        position: isForward ? table.sourcePosition : table.targetPosition)
    }
  }

  /// The error for the number of members of a to-one relationship.
  static func noMembers(of relationship: RelationshipDescription) -> CoherenceError {
    CoherenceError(
      .unsupported, "'\(relationship.name)' is not a to-many relationship, and has no number of members.")
  }
}
