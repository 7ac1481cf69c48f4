package import CoherenceCore

/// The statements of a save that compute values derived from other records.
package struct DerivationStatements: Sendable {
  private let schema: SQLSchema
  private let dialect: any SQLDialect
  private let expression: DerivedExpression

  package init(schema: SQLSchema, dialect: any SQLDialect) {
    self.schema = schema
    self.dialect = dialect
    expression = DerivedExpression(schema: schema, dialect: dialect)
  }

  /// The alias of the owners' table.
  private static let owner = "$o"
  /// The alias of the subquery that computes the values.
  private static let derived = "$d"

  /// Updates the derived values and the versions of owners with changed values, and returns their new rows in the
  /// layout of ``QueryPlanner/rows(of:)``.
  package func update(_ update: DerivationUpdate) throws -> SQLFragment {
    let table = try schema.requireTable(for: update.entity)
    let columns = update.derivations.map { table.column($0.attribute.slot, of: update.entity) }
    func value(_ index: Int) -> SQLFragment { .column("$\(index)", of: Self.derived) }
    var selection: [SQLFragment] = ["\(.column(SQLTable.id, of: Self.owner)) AS \(name: "$key")"]
    for (index, derivation) in update.derivations.enumerated() {
      selection.append("\(try expression.value(of: derivation, owner: Self.owner)) AS \(name: "$\(index)")")
    }
    let assignments = columns.enumerated().map { "\(name: $1.name) = \(value($0))" as SQLFragment }
    let differences = columns.enumerated().map { index, column in
      "\(.column(column.name, of: table.name)) \(dialect.nullSafeDifferent) \(value(index))" as SQLFragment
    }
    let version = SQLFragment.column(SQLTable.version, of: table.name)
    let layout = RowLayout(table, entities: table.root.concreteEntities)
    return """
      UPDATE \(name: table.name) SET \(assignments.joined(separator: ", ")), \
      \(name: SQLTable.version) = \(version) + 1 \
      FROM (SELECT \(selection.joined(separator: ", ")) FROM \(name: table.name) AS \(name: Self.owner) \
      WHERE \(try condition(update))) AS \(name: Self.derived) \
      WHERE \(.column(SQLTable.id, of: table.name)) = \(.column("$key", of: Self.derived)) \
      AND (\(differences.joinedInGroups(by: " OR "))) RETURNING \(layout.selection(alias: table.name))
      """
  }

  /// Splits an update into updates that each bind a limited number of keys, for an engine that limits the parameters of
  /// a statement.
  package static func parts(of update: DerivationUpdate, keys limit: Int) -> [DerivationUpdate] {
    let count = update.owners.count + update.routes.values.reduce(0) { $0 + $1.count }
    if count <= limit { return [update] }
    var parts: [DerivationUpdate] = []
    func add(_ keys: Set<Int64>, _ change: (inout DerivationUpdate, ArraySlice<Int64>) -> Void) {
      let keys = keys.sorted()
      for start in stride(from: 0, to: keys.count, by: limit) {
        var part = DerivationUpdate(of: update.entity)
        for derivation in update.derivations { part.add(derivation) }
        change(&part, keys[start..<min(start + limit, keys.count)])
        parts.append(part)
      }
    }
    guard let derivation = update.derivations.first else { return [] }
    add(update.owners) { $0.add(owners: $1, of: derivation) }
    for (route, keys) in update.routes { add(keys) { $0.add($1, by: route, of: derivation) } }
    return parts
  }

  // MARK: Owners

  /// The condition for the owners of an update.
  private func condition(_ update: DerivationUpdate) throws -> SQLFragment {
    var conditions: [SQLFragment] = []
    let owner = SQLFragment.column(SQLTable.id, of: Self.owner)
    if !update.owners.isEmpty { conditions.append("\(owner) \(Self.list(update.owners))") }
    for (route, keys) in update.routes { conditions.append(try condition(route, keys)) }
    return conditions.isEmpty ? dialect.boolean(false) : conditions.joined(separator: " OR ")
  }

  /// The condition for the owners to which a route leads from the keys.
  private func condition(_ route: DerivationUpdate.Route, _ keys: Set<Int64>) throws -> SQLFragment {
    switch route {
    case .path(let steps): try path(steps[...], Self.owner, keys)
    case .members(let relationship):
      "\(.column(SQLTable.id, of: Self.owner)) IN (\(try owners(of: relationship, keys)))"
    }
  }

  /// The queries for the keys of the owners that an update does not name, one for each route.
  package func routedOwners(_ update: DerivationUpdate) throws -> [SQLFragment] {
    let table = try schema.requireTable(for: update.entity)
    return try update.routes.map { route, keys in
      """
      SELECT \(.column(SQLTable.id, of: Self.owner)) FROM \(name: table.name) AS \(name: Self.owner) \
      WHERE \(try condition(route, keys))
      """
    }
  }

  /// The right side of a membership in some keys, with its operator.
  private static func list(_ keys: Set<Int64>) -> SQLFragment { "\(keys: keys.sorted())" }

  /// Whether the to-one relationships of a row lead to one of the keys.
  private func path(
    _ steps: ArraySlice<RelationshipDescription>, _ alias: String, _ keys: Set<Int64>
  ) throws -> SQLFragment {
    guard let step = steps.first else { return dialect.boolean(false) }
    let reference = SQLFragment.column(try expression.column(of: step).name, of: alias)
    let remainingSteps = steps.dropFirst()
    if remainingSteps.isEmpty { return "\(reference) \(Self.list(keys))" }
    let table = try schema.requireTable(for: step.destination)
    let next = "$w\(remainingSteps.count)"
    return """
      \(reference) IN (SELECT \(.column(SQLTable.id, of: next)) FROM \(name: table.name) AS \(name: next) \
      WHERE \(try path(remainingSteps, next, keys)))
      """
  }

  /// The query for the keys of the owners of members.
  private func owners(of relationship: RelationshipDescription, _ keys: Set<Int64>) throws -> SQLFragment {
    switch relationship.storage {
    case .column: return "NULL"
    case .inverseColumn(let inverse, _):
      let table = try schema.requireTable(for: inverse.entity)
      return """
        SELECT \(name: try expression.column(of: inverse).name) FROM \(name: table.name) \
        WHERE \(name: SQLTable.id) \(Self.list(keys))
        """
    case .links(let links, let isForward):
      let table = try schema.requireLinkTable(links)
      return """
        SELECT \(name: isForward ? table.source : table.target) FROM \(name: table.name) \
        WHERE \(name: isForward ? table.target : table.source) \(Self.list(keys))
        """
    }
  }

  // MARK: Locks

  /// The statements that order concurrent saves before the values are computed, for an engine with several writers.
  ///
  /// Each statement sees what others committed while it, or an earlier one, waited for a lock; one statement alone
  /// would compute from the state at its own beginning. The owners are locked first, so that of two saves that change
  /// the members of one owner, the later computes with the members of both. Then the records whose values are read, and
  /// which have no reference to the owner, are locked against changes. A save that changes one of them either waits and
  /// then finds the owner, or commits while this save waits, so that its values are read.
  package func locks(_ update: DerivationUpdate) throws -> [SQLFragment] {
    let key = SQLFragment.column(SQLTable.id, of: Self.owner)
    let owners: SQLFragment = """
      SELECT \(key) \(try source(update)) ORDER BY \(key) FOR NO KEY UPDATE OF \(name: Self.owner)
      """
    return try [owners] + sources(update).map { try shareLock(on: $0.entity, $0.keys) }
  }

  /// The owners of an update, as the source of a query.
  private func source(_ update: DerivationUpdate) throws -> SQLFragment {
    let table = try schema.requireTable(for: update.entity)
    return "FROM \(name: table.name) AS \(name: Self.owner) WHERE \(try condition(update))"
  }

  /// The queries for the keys of the records whose values are read, and which have no reference to the owner.
  package func sources(_ update: DerivationUpdate) throws -> [(entity: EntityDescription, keys: SQLFragment)] {
    let source = try source(update)
    var queries: [(entity: EntityDescription, keys: SQLFragment)] = []
    var routes: Set<DerivationUpdate.Route> = []
    for derivation in update.derivations {
      switch derivation.rule {
      case .count: break
      case .path(let steps, _):
        for index in steps.indices where routes.insert(.path(Array(steps[...index]))).inserted {
          queries.append((steps[index].destination, try targets(steps[...index], source)))
        }
      case .members(_, let relationship, _):
        guard case .links(let links, let isForward) = relationship.storage,
          routes.insert(.members(relationship)).inserted
        else { break }
        let table = try schema.requireLinkTable(links)
        let members: SQLFragment = """
          SELECT \(name: isForward ? table.target : table.source) FROM \(name: table.name) \
          WHERE \(name: isForward ? table.source : table.target) \
          IN (SELECT \(.column(SQLTable.id, of: Self.owner)) \(source))
          """
        queries.append((relationship.destination, members))
      }
    }
    return queries
  }

  /// The query for the keys of the records at the end of to-one relationships of records.
  package func targets(of keys: Set<Int64>, by steps: ArraySlice<RelationshipDescription>) throws -> SQLFragment {
    guard let step = steps.first else { return "NULL" }
    let table = try schema.requireTable(for: step.entity)
    let records: SQLFragment = """
      FROM \(name: table.name) AS \(name: Self.owner) \
      WHERE \(.column(SQLTable.id, of: Self.owner)) \(Self.list(keys))
      """
    return try targets(steps, records)
  }

  /// The query for the keys of the records at the end of to-one relationships of the owners.
  private func targets(_ steps: ArraySlice<RelationshipDescription>, _ owners: SQLFragment) throws -> SQLFragment {
    guard let step = steps.last else { return "NULL" }
    let column = try expression.column(of: step)
    if steps.count == 1 { return "SELECT \(.column(column.name, of: Self.owner)) \(owners)" }
    let table = try schema.requireTable(for: step.entity)
    return """
      SELECT \(name: column.name) FROM \(name: table.name) \
      WHERE \(name: SQLTable.id) IN (\(try targets(steps.dropLast(), owners)))
      """
  }

  /// The statement that locks records against changes, but not against other share locks.
  private func shareLock(on entity: EntityDescription, _ keys: SQLFragment) throws -> SQLFragment {
    let table = try schema.requireTable(for: entity)
    let key = SQLFragment.column(SQLTable.id, of: "$s")
    return """
      SELECT \(key) FROM \(name: table.name) AS \(name: "$s") WHERE \(key) IN (\(keys)) ORDER BY \(key) \
      FOR SHARE OF \(name: "$s")
      """
  }
}
