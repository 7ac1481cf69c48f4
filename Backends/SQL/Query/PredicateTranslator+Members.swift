import CoherenceCore

// Conditions on the members of to-many relationships, and values computed from them.

extension PredicateTranslator {
  /// The FROM clause and the condition of a subquery over the members of a relationship.
  private struct Members {
    var tables: SQLFragment
    /// The column with the key of the owner.
    let ownerColumn: SQLFragment
    /// The key of the owner, in the table of the query around the subquery.
    let owner: SQLFragment
    /// Whether the owner is the target of a to-one relationship, which many records may have in common.
    let hasSharedOwner: Bool
    /// The scope of the subquery, in which paths begin at a member.
    var scope: JoinScope

    var condition: SQLFragment { "\(ownerColumn) = \(owner)" }
  }

  /// Returns a subquery over the members of a relationship at the end of to-one relationships; `nil` when the store
  /// cannot select the members.
  ///
  /// - Parameter readingMembers: Whether the subquery reads columns of the members. Otherwise a link table suffices.
  private func members(
    _ relationship: RelationshipDescription, following steps: [RelationshipDescription], in scope: inout JoinScope,
    readingMembers: Bool = false
  ) -> Members? {
    guard let owner = scope.alias(following: steps), let table = schema.table(for: relationship.destination) else {
      return nil
    }
    let ownerID = SQLFragment.column(SQLTable.id, of: owner)
    let alias = scope.subqueryAlias()
    let memberScope = JoinScope(
      table, entity: relationship.destination, alias: alias, schema: schema,
      maximumJoins: dialect.maximumJoins - 1)
    switch relationship.storage {
    case .column:
      return nil
    case .inverseColumn(let inverse, _):
      guard let column = column(of: inverse) else { return nil }
      return Members(
        tables: "\(name: table.name) AS \(name: alias)", ownerColumn: .column(column, of: alias), owner: ownerID,
        hasSharedOwner: !steps.isEmpty, scope: memberScope)
    case .links(let links, let isForward):
      guard let linkTable = schema.linkTable(links) else { return nil }
      let linkAlias = scope.subqueryAlias()
      let near = SQLFragment.column(isForward ? linkTable.source : linkTable.target, of: linkAlias)
      let far = SQLFragment.column(isForward ? linkTable.target : linkTable.source, of: linkAlias)
      var tables: SQLFragment = "\(name: linkTable.name) AS \(name: linkAlias)"
      if readingMembers {
        tables += " JOIN \(name: table.name) AS \(name: alias) ON \(.column(SQLTable.id, of: alias)) = \(far)"
      }
      return Members(
        tables: tables, ownerColumn: near, owner: ownerID, hasSharedOwner: !steps.isEmpty, scope: memberScope)
    }
  }

  /// The members of the relationship at the end of a path; `nil` when the store cannot select them.
  private func members(
    at path: PropertyPath, in scope: inout JoinScope, readingMembers: Bool = false
  ) -> Members? {
    scope.atOuterLevel(path.outerLevel) { scope in
      membersOfScope(at: path, in: &scope, readingMembers: readingMembers)
    }
  }

  /// The members of the relationship at the end of a path that begins at a record of the scope.
  private func membersOfScope(
    at path: PropertyPath, in scope: inout JoinScope, readingMembers: Bool = false
  ) -> Members? {
    guard let resolved = try? ResolvedPath(path, from: scope.entity), case .toMany(let relationship) = resolved.target
    else { return nil }
    return members(relationship, following: resolved.steps, in: &scope, readingMembers: readingMembers)
  }

  /// Translates a condition on a member. Paths in the condition may begin at records of the outer queries too.
  ///
  /// - Parameter isTotal: Whether the condition must never be null, because it stands under NOT.
  private func memberCondition(
    _ predicate: FetchPredicate, of members: inout Members, in scope: inout JoinScope, isTotal: Bool = false
  ) -> SQLFragment? {
    guard let inner = nested(by: Self.subqueryDepth) else { return nil }
    return scope.withSubquery(&members.scope) { inner.condition(predicate, in: &$0, isTotal: isTotal) }
  }

  /// The entries of the engine's parser stack that a subquery takes.
  private static let subqueryDepth = 12

  /// Translates a condition on any, all or none of the members at the end of a path.
  func quantified(
    _ quantifier: FetchPredicate.Quantifier, _ path: PropertyPath, _ predicate: FetchPredicate,
    in scope: inout JoinScope
  ) -> SQLFragment? {
    guard var members = members(at: path, in: &scope, readingMembers: true),
      let inner = memberCondition(predicate, of: &members, in: &scope, isTotal: quantifier == .all)
    else { return nil }
    let tables = members.tables + members.scope.joinClauses
    let wanted: SQLFragment = quantifier == .all ? "NOT (\(inner))" : "(\(inner))"
    let exists: SQLFragment = "EXISTS (SELECT 1 FROM \(tables) WHERE \(members.condition) AND \(wanted))"
    return quantifier == .any ? exists : "NOT \(exists)"
  }

  // MARK: Aggregates

  /// The number of members of the relationship at the end of a path.
  func count(_ path: PropertyPath, in scope: inout JoinScope) -> QueryOperand? {
    scope.atOuterLevel(path.outerLevel) { scope in
      guard let members = membersOfScope(at: path, in: &scope) else { return nil }
      return count(members, in: &scope)
    }
  }

  /// The number of members that satisfy a condition.
  func count(_ path: PropertyPath, _ predicate: FetchPredicate, in scope: inout JoinScope) -> QueryOperand? {
    guard var members = members(at: path, in: &scope, readingMembers: true),
      let inner = memberCondition(predicate, of: &members, in: &scope)
    else { return nil }
    let tables = members.tables + members.scope.joinClauses
    return QueryOperand(
      sql: "(SELECT COUNT(*) FROM \(tables) WHERE \(members.condition) AND (\(inner)))", storage: .int64,
      isNullable: false)
  }

  private func count(_ members: Members, in scope: inout JoinScope) -> QueryOperand {
    QueryOperand(
      sql: value("COUNT(*)", of: members, tables: members.tables, in: &scope), storage: .int64, isNullable: false)
  }

  /// The value of an aggregate for the members of each owner. The engine computes the value once for an owner that many
  /// records have in common: otherwise the cost for many records with few owners grows with the square of their number.
  private func value(
    _ aggregate: SQLFragment, of members: Members, tables: SQLFragment, in scope: inout JoinScope
  ) -> SQLFragment {
    let query: SQLFragment = "SELECT \(aggregate) FROM \(tables) WHERE \(members.ownerColumn) = "
    guard members.hasSharedOwner else { return "(\(query)\(members.owner))" }
    if dialect.retainsLateralResults {
      let column = JoinScope.lateralColumn
      return scope.columnOfLateral(
        "SELECT \(aggregate) AS \(name: column) FROM \(tables) WHERE \(members.condition)")
    }
    return dialect.sharedValue(of: query + "?1", key: members.owner) ?? "(\(query)\(members.owner))"
  }

  /// An aggregate of the members of a relationship; `nil` when the engine does not compute it as the evaluator does.
  func aggregate(
    _ aggregate: MemberAggregate, following steps: [RelationshipDescription], in scope: inout JoinScope
  ) -> QueryOperand? {
    guard let member = aggregate.operand else {
      guard let members = members(aggregate.relationship, following: steps, in: &scope) else { return nil }
      return count(members, in: &scope)
    }
    guard var members = members(aggregate.relationship, following: steps, in: &scope, readingMembers: true),
      let operand = operand(member, in: &members.scope),
      var result = AggregateTranslator(dialect: dialect).memberAggregate(aggregate.function, of: operand)
    else { return nil }
    let tables = members.tables + members.scope.joinClauses
    result.sql = dialect.collated(
      value(result.sql, of: members, tables: tables, in: &scope), as: result.storage)
    return result
  }
}
