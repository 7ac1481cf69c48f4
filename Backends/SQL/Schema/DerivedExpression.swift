package import CoherenceCore
import Foundation

/// The SQL expressions of values derived from other records.
package struct DerivedExpression: Sendable {
  private let schema: SQLSchema
  private let dialect: any SQLDialect

  package init(schema: SQLSchema, dialect: any SQLDialect) {
    self.schema = schema
    self.dialect = dialect
  }

  /// The value of a derived attribute, computed for the row of an owner.
  ///
  /// - Parameter owner: The alias of the owner's table.
  /// - Throws: ``ErrorCode/noStore`` when the store does not hold the other records.
  package func value(of derivation: RelationshipDerivation, owner: String) throws -> SQLFragment {
    switch derivation.rule {
    case .path(let steps, let attribute): return try end(of: steps, attribute, from: owner)
    case .count(let relationship):
      let members = try members(of: relationship, owner: owner, readsMembers: false)
      return "(SELECT COUNT(*) FROM \(members))"
    case .members(let function, let relationship, let attribute):
      let members = try members(of: relationship, owner: owner, readsMembers: true)
      let column = try column(of: attribute)
      let value = SQLFragment.column(column.name, of: Self.member)
      let result = aggregate(function, value, column.storage, as: derivation.attribute.type.storage)
      return "(SELECT \(result) FROM \(members))"
    }
  }

  /// The name of the alias of members in subqueries.
  package static let member = "$m"
  private static let link = "$l"

  /// A function of the members' values, with the results that Core defines for no members and for sums.
  private func aggregate(
    _ function: RelationshipDerivation.Function, _ value: SQLFragment, _ storage: StorageType, as result: StorageType
  ) -> SQLFragment {
    let sum = dialect.storedSum(value, of: storage)
    switch function {
    case .minimum: return dialect.extreme(value, of: storage, isMaximum: false)
    case .maximum: return dialect.extreme(value, of: storage, isMaximum: true)
    // An average of integers may be in range although their sum is not.
    case .average:
      let total = storage.isBinaryFloat ? sum : dialect.sum(value, of: storage, neverFails: true)
      return dialect.average(ofSum: dialect.nearestDouble(total), count: "COUNT(\(value))", of: storage)
    case .sum:
      let zero = dialect.constant(
        result == .decimal ? .decimal(0) : result == .double ? .double(0) : .int(0), as: result)
      // Infinities of both signs have no sum, which is null; no values have the sum zero.
      if result == .double { return "CASE WHEN COUNT(\(value)) = 0 THEN \(zero ?? "0") ELSE \(sum) END" }
      let total: SQLFragment = "COALESCE(\(sum), \(zero ?? "0"))"
      return result == .int64 ? dialect.cast(total, to: .int64) : total
    }
  }

  /// The tables and the condition of the members of an owner.
  private func members(
    of relationship: RelationshipDescription, owner: String, readsMembers: Bool
  ) throws -> SQLFragment {
    let ownerKey = SQLFragment.column(SQLTable.id, of: owner)
    let table = try schema.requireTable(for: relationship.destination)
    switch relationship.storage {
    case .column: throw Self.noMembers(relationship)
    case .inverseColumn(let inverse, _):
      let column = try column(of: inverse)
      return """
        \(name: table.name) AS \(name: Self.member) WHERE \(.column(column.name, of: Self.member)) = \(ownerKey)
        """
    case .links(let links, let isForward):
      let linkTable = try schema.requireLinkTable(links)
      let near = SQLFragment.column(isForward ? linkTable.source : linkTable.target, of: Self.link)
      let far = SQLFragment.column(isForward ? linkTable.target : linkTable.source, of: Self.link)
      var tables: SQLFragment = "\(name: linkTable.name) AS \(name: Self.link)"
      if readsMembers {
        let key = SQLFragment.column(SQLTable.id, of: Self.member)
        tables += " JOIN \(name: table.name) AS \(name: Self.member) ON \(key) = \(far)"
      }
      return "\(tables) WHERE \(near) = \(ownerKey)"
    }
  }

  /// The value of the attribute of the record at the end of to-one relationships.
  private func end(
    of steps: [RelationshipDescription], _ attribute: AttributeDescription, from owner: String
  ) throws -> SQLFragment {
    var tables = SQLFragment()
    var reference = SQLFragment.column(try column(of: steps[0]).name, of: owner)
    var condition = SQLFragment()
    for (index, step) in steps.enumerated() {
      let alias = "$p\(index)"
      let table = try schema.requireTable(for: step.destination)
      let link: SQLFragment = "\(.column(SQLTable.id, of: alias)) = \(reference)"
      if index == 0 {
        tables = "\(name: table.name) AS \(name: alias)"
        condition = link
      } else {
        tables += " JOIN \(name: table.name) AS \(name: alias) ON \(link)"
      }
      if index + 1 < steps.count { reference = .column(try column(of: steps[index + 1]).name, of: alias) }
    }
    let value = SQLFragment.column(try column(of: attribute).name, of: "$p\(steps.count - 1)")
    return "(SELECT \(value) FROM \(tables) WHERE \(condition))"
  }

  /// The column of an attribute or a to-one relationship.
  package func column(of property: PropertyDescription) throws -> SQLColumn {
    guard let column = try schema.requireTable(for: property.entity).column(of: property) else {
      throw CoherenceError(.noStore, "The store does not hold '\(property.entity.name).\(property.name)'.")
    }
    return column
  }

  private static func noMembers(_ relationship: RelationshipDescription) -> CoherenceError {
    CoherenceError(
      .unsupported, "'\(relationship.name)' is not a to-many relationship, and has no members to derive a value from.")
  }
}
