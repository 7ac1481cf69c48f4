package import CoherenceCore

/// The statements that lock owners and count their members.
package struct MemberCountStatements: Sendable {
  private let schema: SQLSchema

  package init(schema: SQLSchema) { self.schema = schema }

  /// Keeps other transactions from changing the members of owners until the end of this one.
  ///
  /// The statement is an update, so that a transaction that reads an older state fails, and changes no key, so that
  /// references to the owners do not wait for it. The versions of the owners stay.
  package func lock(_ check: MemberCountCheck) throws -> SQLFragment {
    let table = try schema.requireTable(for: check.relationship.entity)
    return """
      UPDATE \(name: table.name) SET \(name: SQLTable.version) = \(name: SQLTable.version) \
      WHERE \(name: SQLTable.id) \(keys: check.owners)
      """
  }

  /// Selects the key and the number of members of each owner that exists.
  package func counts(_ relationship: RelationshipDescription, of owners: [Int64]) throws -> SQLFragment {
    let table = try schema.requireTable(for: relationship.entity)
    let owner = SQLFragment.column(SQLTable.id, of: "o")
    return """
      SELECT \(owner), (SELECT COUNT(*) FROM \(try members(of: relationship, where: owner))) \
      FROM \(name: table.name) AS \(name: "o") WHERE \(owner) \(keys: owners)
      """
  }

  /// The rows of an owner's members or links.
  private func members(of relationship: RelationshipDescription, where owner: SQLFragment) throws -> SQLFragment {
    guard let table = try schema.memberTable(of: relationship) else {
      guard case .inverseColumn(let inverse, _) = relationship.storage else {
        throw SQLSchema.noMembers(of: relationship)
      }
      throw CoherenceError(.noStore, "The store does not hold '\(inverse.entity.name).\(inverse.name)'.")
    }
    return "\(name: table.name) AS \(name: "m") WHERE \(.column(table.owner, of: "m")) = \(owner)"
  }
}
