import CoherenceCore
import CoherenceSQL

/// The rows that a save locks before its first change: the rows that its steps change, the owners whose members are
/// counted, the owners whose derived values are computed, and the records that the values depend on.
///
/// Saves that lock their rows in one order before all else never wait for each other in a cycle. A store has such saves
/// only after a deadlock; see ``PostgreSQLSaveLocking``.
///
/// The statements find owners and records in the rows before the steps. The steps lead to further owners and records only
/// by the references and links that they write, which are in the request.
struct PostgreSQLRowLocks {
  /// The strength of the lock on all rows of a table: statements of several strengths would lock the rows of one table
  /// in another order than that of their keys.
  private enum Strength: Int {
    /// Keeps the rows unchanged, as `DerivationStatements` does for the records that values depend on.
    case share
    /// The lock of an update that leaves the unique values of the row. Other transactions may write references to the
    /// row.
    case noKeyUpdate
    /// The lock of a delete, and of an update of a unique value.
    case update

    var clause: SQLFragment {
      switch self {
      case .share: "FOR SHARE"
      case .noKeyUpdate: "FOR NO KEY UPDATE"
      case .update: "FOR UPDATE"
      }
    }
  }

  /// The rows of a table.
  private struct Rows {
    var strength = Strength.share
    var keys: Set<Int64> = []
    /// The queries for the keys of further rows.
    var queries: [SQLFragment] = []
  }

  private let schema: SQLSchema
  /// The rows by hierarchy.
  private var rows: [EntityDescription: Rows] = [:]
  /// The keys of the rows that the save inserts, and cannot lock before, by hierarchy.
  private var inserted: [EntityDescription: Set<Int64>] = [:]

  init(of request: StoreSaveRequest, in schema: SQLSchema) throws {
    self.schema = schema
    for case .insert(let entity, let rows) in request.steps {
      inserted[entity.root, default: []].formUnion(rows.lazy.map(\.key))
    }
    for step in request.steps { try add(step) }
    for check in request.memberCounts { add(check.owners, of: check.relationship.entity, .noKeyUpdate) }
    for update in request.derivations { try add(update, after: request.steps) }
  }

  /// The locks of records for a block that may change them, with the owners of values of members that the records are:
  /// a save in the block would lock these owners, whose table may come first in the order.
  ///
  /// The owners of other derived values are left out, because they may be many.
  init(ofRecords ids: [ManagedObjectID], in environment: StoreEnvironment, _ schema: SQLSchema) throws {
    self.schema = schema
    let statements = DerivationStatements(schema: schema, dialect: PostgreSQLDialect())
    for (root, ids) in Dictionary(grouping: ids, by: { $0.entity.root }) {
      let keys = Set(ids.map(\.key))
      add(keys, of: root, .update)
      for derivation in Self.derivations(fromMembersOf: root, in: environment) {
        var update = DerivationUpdate(of: derivation.attribute.entity)
        for relationship in derivation.relationships {
          update.add(keys, by: .members(relationship), of: derivation)
        }
        for query in try statements.routedOwners(update) { add(query, of: update.entity, .noKeyUpdate) }
      }
    }
  }

  /// The derivations from values of members of a hierarchy, each of which refers to its only owner.
  private static func derivations(
    fromMembersOf root: EntityDescription, in environment: StoreEnvironment
  ) -> [RelationshipDerivation] {
    var derivations: [RelationshipDerivation] = []
    for entity in environment.entities {
      for attribute in entity.attributes where attribute.entity === entity {
        guard let derivation = attribute.relationshipDerivation,
          case .members(_, let relationship, _) = derivation.rule, case .inverseColumn = relationship.storage,
          relationship.destination.root === root
        else { continue }
        derivations.append(derivation)
      }
    }
    return derivations
  }

  /// The statements that lock the rows, in the order of ``PostgreSQLTableOrder/rowLocks(of:)``. One row needs no lock.
  func statements() throws -> [SQLFragment] {
    let isQueried = rows.values.contains { !$0.queries.isEmpty }
    guard isQueried || rows.values.reduce(0, { $0 + $1.keys.count }) > 1 else { return [] }
    return try PostgreSQLTableOrder(of: schema).rowLocks(of: rows.mapValues { Array($0.keys) }).map { table, keys in
      let rows = self.rows[table.root] ?? Rows()
      let key = SQLFragment.name(SQLTable.id)
      var condition: SQLFragment = "\(key) \(keys: keys)"
      if !rows.queries.isEmpty {
        // A union of queries, because for a condition with `OR` and a query the server reads the whole table.
        let known: SQLFragment = "SELECT \(key) FROM \(name: table.name) WHERE \(condition)"
        condition = "\(key) IN (\(([known] + rows.queries).joined(separator: " UNION ALL ")))"
      }
      return "SELECT 1 FROM \(name: table.name) WHERE \(condition) ORDER BY \(key) \(rows.strength.clause)"
    }
  }

  // MARK: Adding

  private mutating func add(_ keys: some Sequence<Int64>, of entity: EntityDescription, _ strength: Strength) {
    let known = Set(keys).subtracting(inserted[entity.root] ?? [])
    if !known.isEmpty { change(entity, strength) { $0.keys.formUnion(known) } }
  }

  private mutating func add(_ query: SQLFragment, of entity: EntityDescription, _ strength: Strength) {
    change(entity, strength) { $0.queries.append(query) }
  }

  private mutating func change(_ entity: EntityDescription, _ strength: Strength, _ body: (inout Rows) -> Void) {
    var rows = self.rows[entity.root] ?? Rows()
    if strength.rawValue > rows.strength.rawValue { rows.strength = strength }
    body(&rows)
    self.rows[entity.root] = rows
  }

  private mutating func add(_ step: SaveStep) throws {
    switch step {
    case .update(let entity, let slots, let updates):
      add(updates.lazy.map(\.row.key), of: entity, try strength(ofUpdating: slots, of: entity))
    case .fix(let entity, let slots, let rows):
      add(rows.lazy.map(\.key), of: entity, try strength(ofUpdating: slots, of: entity))
    case .delete(let entity, let deletes): add(deletes.lazy.map(\.id.key), of: entity, .update)
    case .insert, .link, .unlink: break
    }
  }

  private func strength(ofUpdating slots: SlotSet, of entity: EntityDescription) throws -> Strength {
    let table = try schema.requireTable(for: entity)
    let unique = Set(table.indexes.lazy.filter(\.isUnique).flatMap(\.columns))
    return slots.contains { unique.contains(table.column($0, of: entity).name) } ? .update : .noKeyUpdate
  }

  // MARK: Derived values

  /// Adds the owners of derived values, and the records that the values depend on: before the steps, and after them.
  private mutating func add(_ update: DerivationUpdate, after steps: [SaveStep]) throws {
    let statements = DerivationStatements(schema: schema, dialect: PostgreSQLDialect())
    add(update.owners, of: update.entity, .noKeyUpdate)
    for query in try statements.routedOwners(update) { add(query, of: update.entity, .noKeyUpdate) }
    for source in try statements.sources(update) { add(source.keys, of: source.entity, .share) }
    for derivation in update.derivations {
      switch derivation.rule {
      case .count: break
      case .path(let path, _): try add(path, after: steps, statements)
      case .members(_, let relationship, _):
        guard case .links(let table, let isForward) = relationship.storage else { break }
        for case .link(table, let links) in steps {
          add(links.lazy.map { isForward ? $0.target : $0.source }, of: relationship.destination, .share)
        }
      }
    }
  }

  /// Adds the records to which a path leads over the references that the steps write.
  private mutating func add(
    _ path: [RelationshipDescription], after steps: [SaveStep], _ statements: DerivationStatements
  ) throws {
    for (index, relationship) in path.enumerated() {
      let targets = steps.targets(of: relationship)
      guard !targets.isEmpty else { continue }
      add(targets, of: relationship.destination, .share)
      for end in path.indices.dropFirst(index + 1) {
        add(try statements.targets(of: targets, by: path[(index + 1)...end]), of: path[end].destination, .share)
      }
    }
  }
}

extension [SaveStep] {
  /// The keys of the records to which the steps set a to-one relationship.
  fileprivate func targets(of relationship: RelationshipDescription) -> Set<Int64> {
    guard let slot = relationship.slot else { return [] }
    var keys: Set<Int64> = []
    func add(_ rows: some Sequence<Row>, of entity: EntityDescription) {
      guard entity.isKind(of: relationship.entity) else { return }
      for row in rows { if case .reference(let target) = row[slot] { keys.insert(target.key) } }
    }
    for step in self {
      switch step {
      case .insert(let entity, let rows): add(rows, of: entity)
      case .update(let entity, let slots, let updates) where slots.contains(slot):
        add(updates.lazy.map(\.row), of: entity)
      case .fix(let entity, let slots, let rows) where slots.contains(slot): add(rows, of: entity)
      case .update, .fix, .delete, .link, .unlink: break
      }
    }
    return keys
  }
}
