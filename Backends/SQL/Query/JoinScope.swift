import CoherenceCore

/// The tables that a query or subquery reads: the table of its entity, and the tables joined to follow to-one
/// relationships.
struct JoinScope {
  /// The alias of the entity's table.
  let alias: String
  let entity: EntityDescription
  private let table: SQLTable
  private let schema: SQLSchema
  private var joins: [Join] = []
  /// The subqueries joined to the tables, which refer to these.
  private var laterals: [(query: SQLFragment, alias: String)] = []
  /// The number of aliases that this scope has given to subqueries.
  private var subqueryCount = 0
  /// The scopes around a condition on members, from the outermost to the innermost.
  private var enclosing: [JoinScope] = []
  /// A table that every record of the query must have a row in, joined before the others.
  var innerJoin = SQLFragment()
  /// The greatest number of tables joined to the entity's.
  private let maximumJoins: Int
  /// The columns that paths name in a condition on groups; `nil` where paths name properties of the entity.
  var columns: [QueryOperand?]?

  /// A table joined to follow a relationship of the records of the table with the alias `source`.
  private struct Join {
    let source: String
    let relationship: RelationshipDescription
    let column: String
    let table: String
    let alias: String
  }

  init(
    _ table: SQLTable, entity: EntityDescription, alias: String = "t", schema: SQLSchema, maximumJoins: Int = .max
  ) {
    self.maximumJoins = maximumJoins
    self.table = table
    self.entity = entity
    self.alias = alias
    self.schema = schema
  }

  /// Calls a block with the scope of a subquery, in which paths may begin at records of this scope and of the scopes
  /// around it.
  mutating func withSubquery<T>(_ inner: inout JoinScope, _ body: (inout JoinScope) -> T) -> T {
    inner.enclosing = enclosing + [self]
    // Paths from outer records add joins to the scopes of these records.
    defer { if let changed = inner.enclosing.popLast() { self = changed.enclosed(by: inner.enclosing) } }
    return body(&inner)
  }

  private func enclosed(by scopes: [JoinScope]) -> JoinScope {
    var scope = self
    scope.enclosing = scopes
    return scope
  }

  /// Calls a block with the scope a number of levels outside of this scope, which is level 0; `nil` without such a
  /// scope.
  mutating func atOuterLevel<T>(_ level: Int, _ body: (inout JoinScope) -> T?) -> T? {
    guard level > 0 else { return body(&self) }
    let index = enclosing.count - level
    guard enclosing.indices.contains(index) else { return nil }
    return body(&enclosing[index])
  }

  /// Returns a new alias for a table of a subquery, which neither this scope nor the scopes around it have.
  ///
  /// The alias has the depth of the subquery in place of the aliases around it, because engines cut long names.
  mutating func subqueryAlias() -> String {
    subqueryCount += 1
    return depth == 0 ? "t_\(subqueryCount)" : "t\(depth + 1)_\(subqueryCount)"
  }

  /// The number of subqueries around the table, as the alias says.
  private var depth: Int {
    guard let end = alias.firstIndex(of: "_") else { return 0 }
    return Int(alias[..<end].dropFirst()) ?? 1
  }

  /// The alias of the table of the record at the end of to-one relationships; `nil` when the store has no column or no
  /// table for a relationship, or for too many joins. Each path is joined once.
  ///
  /// The alias of a table joined in a subquery has one more part than the alias of any subquery: without it, the first
  /// table joined to `t_1` would hide the eleventh subquery of the scope around it, `t_11`.
  mutating func alias(following steps: [RelationshipDescription]) -> String? {
    var alias = alias
    for step in steps {
      if let existing = joins.first(where: { $0.source == alias && $0.relationship === step }) {
        alias = existing.alias
        continue
      }
      guard joins.count < maximumJoins, let column = schema.table(for: step.entity)?.column(of: step),
        let target = schema.table(for: step.destination)
      else { return nil }
      let join = Join(
        source: alias, relationship: step, column: column.name, table: target.name,
        alias: depth == 0 ? "\(self.alias)\(joins.count + 1)" : "\(self.alias)_\(joins.count + 1)")
      joins.append(join)
      alias = join.alias
    }
    return alias
  }

  /// The name of the column of a joined subquery.
  static let lateralColumn = "value"

  /// Joins a subquery that refers to the joined tables, and returns its only column, which has the name
  /// ``lateralColumn``.
  mutating func columnOfLateral(_ query: SQLFragment) -> SQLFragment {
    let alias = subqueryAlias()
    laterals.append((query, alias))
    return .column(Self.lateralColumn, of: alias)
  }

  /// The entity's table and the tables joined to it, for the FROM clause.
  var tables: SQLFragment { "\(name: table.name) AS \(name: alias)" + innerJoin + joinClauses }

  /// The joins to the entity's table.
  var joinClauses: SQLFragment {
    var result = joins.reduce(into: SQLFragment()) { clauses, join in
      clauses += """
         LEFT JOIN \(name: join.table) AS \(name: join.alias) \
        ON \(.column(SQLTable.id, of: join.alias)) = \(.column(join.column, of: join.source))
        """
    }
    for (query, alias) in laterals { result += " LEFT JOIN LATERAL (\(query)) AS \(name: alias) ON TRUE" }
    return result
  }
}
