package import CoherenceCore

// Members of one owner, and numbers of members of several owners.

extension QueryPlanner {
  /// A query over members as the parts of a statement.
  private struct MemberParts {
    var scope: JoinScope
    var filter: Filter
    let layout: RowLayout
    /// The members' positions, with the suffix of their order.
    let position: SQLFragment?
  }

  /// The parts of a statement for members; `nil` when SQL cannot express the query exactly.
  private func parts(of members: MemberQuery) throws -> MemberParts? {
    guard let source = try schema.memberTable(of: members.relationship) else { return nil }
    let table = try schema.requireTable(for: members.query.entity)
    var scope = JoinScope(
      table, entity: members.query.entity, schema: schema, maximumJoins: dialect.maximumJoins - 1)
    var alias = scope.alias
    if let member = source.member {
      alias = "m"
      scope.innerJoin = """
         JOIN \(name: source.name) AS \(name: alias) \
        ON \(.column(member, of: alias)) = \(.column(SQLTable.id, of: scope.alias))
        """
    }
    var filter = filter(members.query, in: table, scope: &scope)
    guard filter.isExact else { return nil }
    filter.conditions.append("\(.column(source.owner, of: alias)) = \(key: members.owner)")
    let position = source.position.map { column -> SQLFragment in
      "\(.column(column, of: alias))\(dialect.orderSuffix(ascending: true))"
    }
    return MemberParts(
      scope: scope, filter: filter, layout: RowLayout(table, entities: members.query.entities),
      position: members.relationship.isOrdered ? position : nil)
  }

  /// Returns the statement for members, in the order of the query or, without sort keys, of the relationship; `nil`
  /// when SQL cannot express the query exactly.
  package func members(_ members: MemberQuery) throws -> SelectPlan? {
    guard var parts = try parts(of: members), var order = order(members.query.sortKeys, scope: &parts.scope) else {
      return nil
    }
    if members.query.sortKeys.isEmpty, let position = parts.position { order = "\(position), \(order)" }
    let statement: SQLFragment = """
      SELECT \(parts.layout.selection(alias: parts.scope.alias)) FROM \(parts.scope.tables)\(parts.filter.clause) \
      ORDER BY \(order)\(range(members.query))
      """
    return SelectPlan(
      statement: statement, layout: parts.layout, isPredicateExact: true, isOrderExact: true, isRangeExact: true)
  }

  /// The statement for the number of members that satisfy the query's predicate; `nil` when SQL cannot express it
  /// exactly.
  package func memberCount(_ members: MemberQuery) throws -> SQLFragment? {
    guard let parts = try parts(of: members) else { return nil }
    return "SELECT COUNT(*) FROM \(parts.scope.tables)\(parts.filter.clause)"
  }

  /// The statement for owners and their numbers of members, without owners of no members.
  package func memberCounts(of relationship: RelationshipDescription, owners: [Int64]) throws -> SQLFragment {
    guard let source = try schema.memberTable(of: relationship) else { throw SQLSchema.noMembers(of: relationship) }
    let owner = SQLFragment.column(source.owner, of: "m")
    let tables: SQLFragment = "\(name: source.name) AS \(name: "m")"
    // A single owner needs no grouping, which some engines sort for.
    if owners.count == 1 {
      return "SELECT \(key: owners[0]), COUNT(*) FROM \(tables) WHERE \(owner) = \(key: owners[0])"
    }
    return """
      SELECT \(owner), COUNT(*) FROM \(tables) WHERE \(owner) \(keys: owners) \
      GROUP BY \(owner)
      """
  }
}
