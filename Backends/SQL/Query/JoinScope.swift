import CoherenceCore

/// The tables that a query, or a subquery of it, reads: the entity's own and those joined to follow to-one
/// relationships.
struct JoinScope {
  /// The alias of the entity's table.
  let alias: String
  let entity: EntityDescription
  private let table: SQLTable
  private let schema: SQLSchema
  private var joins: [Join] = []
  private var subqueries = 0
  /// A table that every record of the query must have a row in, joined before the others.
  var innerJoin = SQLFragment()
  /// The greatest number of tables joined to the entity's.
  private let maximumJoins: Int
  /// The columns that paths name in a condition on groups; `nil` where paths name properties of the entity.
  var columns: [QueryOperand?]?

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

  /// An alias for a table of a subquery, new to this scope and those around it.
  mutating func subqueryAlias() -> String {
    subqueries += 1
    return "\(alias)_\(subqueries)"
  }

  /// The alias of the table of the record at the end of to-one relationships; `nil` when the store does not hold the
  /// record, or for too many joins. Each path is joined once.
  mutating func alias(following steps: [RelationshipDescription]) -> String? {
    var alias = alias
    for step in steps {
      if let known = joins.first(where: { $0.source == alias && $0.relationship === step }) {
        alias = known.alias
        continue
      }
      guard joins.count < maximumJoins, let column = schema.table(for: step.entity)?.column(of: step),
        let target = schema.table(for: step.destination)
      else { return nil }
      let join = Join(
        source: alias, relationship: step, column: column.name, table: target.name,
        alias: "\(self.alias)\(joins.count + 1)")
      joins.append(join)
      alias = join.alias
    }
    return alias
  }

  /// The entity's table and the tables joined to it, for the FROM clause.
  var tables: SQLFragment { "\(name: table.name) AS \(name: alias)" + innerJoin + joinClauses }

  /// The joins to the entity's table.
  var joinClauses: SQLFragment {
    joins.reduce(into: SQLFragment()) { clauses, join in
      clauses += """
         LEFT JOIN \(name: join.table) AS \(name: join.alias) \
        ON \(.column(SQLTable.id, of: join.alias)) = \(.column(join.column, of: join.source))
        """
    }
  }
}
