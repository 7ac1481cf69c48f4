import CoherenceCore
import CoherenceSQL

/// The order in which transactions lock the tables of records.
///
/// A thread that excludes writers locks all tables in this order, and waits at each for the transactions that write it.
/// A transaction that locks the first of its tables before all else therefore never waits for a thread that waits for
/// it: that thread has not come further than to the transaction's first table. The order in which the transaction
/// writes its other tables does not matter.
///
/// The order is that of the tables' names, link tables last, so that programs with different models have one order.
struct PostgreSQLTableOrder {
  private let schema: SQLSchema

  init(of schema: SQLSchema) { self.schema = schema }

  /// The names of all tables, in order.
  var all: [String] {
    (schema.tables.map { OrderedTable(table: $0.name) } + schema.linkTables.map { OrderedTable(links: $0.name) })
      .sorted().map(\.name)
  }

  /// The statement that a save sends before all others; `nil` when its first statement locks the first table.
  ///
  /// - Parameter locksRows: Whether the save locks rows before its first step, which locks no table against other
  ///   writers.
  func lockStatement(for request: StoreSaveRequest, locksRows: Bool = false) throws -> SQLFragment? {
    if !locksRows, request.writesOneTable { return nil }
    let tables =
      try request.memberCounts.map { try table(of: $0.relationship.entity) } + request.steps.flatMap(tables)
      + request.derivations.map { try table(of: $0.entity) }
    guard let first = tables.min(), locksRows || first != tables.first else { return nil }
    return lockStatement(first.name)
  }

  /// The statement that a transaction sends before it locks records of an entity and updates them.
  func lockStatement(forClaimsOf entity: EntityDescription) throws -> SQLFragment {
    lockStatement(try table(of: entity).name)
  }

  /// The statement that a transaction sends before it updates or deletes records that a batch request selects. A
  /// deletion clears the references to the records.
  func lockStatement(forBatchOn entity: EntityDescription) throws -> SQLFragment {
    let ownTable = try table(of: entity)
    let referring = schema.tables.filter { !$0.references(to: entity.root).isEmpty }
      .map { OrderedTable(table: $0.name) }
    return lockStatement((referring + cleared(by: entity)).reduce(ownTable, min).name)
  }

  private func lockStatement(_ table: String) -> SQLFragment { "LOCK TABLE \(name: table) IN ROW EXCLUSIVE MODE" }

  /// The keys of rows by table, in the order in which all transactions lock rows: one statement for each table, the
  /// tables by name, the keys ascending. Two transactions that lock rows in this order never wait for each other.
  func rowLocks(of keys: [EntityDescription: [Int64]]) throws -> [(table: SQLTable, keys: [Int64])] {
    try keys
      .map { root, keys in (table: try schema.requireTable(for: root), keys: keys.sorted()) }
      .sorted { $0.table.name < $1.table.name }
  }

  // MARK: Tables of steps

  /// A table in the order. Links are deleted with the records at their ends, so their tables come last.
  private struct OrderedTable: Comparable {
    let name: String
    let isOfLinks: Bool

    init(table: String) { (name, isOfLinks) = (table, false) }
    init(links: String) { (name, isOfLinks) = (links, true) }

    static func < (left: OrderedTable, right: OrderedTable) -> Bool {
      (left.isOfLinks ? 1 : 0, left.name) < (right.isOfLinks ? 1 : 0, right.name)
    }
  }

  /// The tables that a step writes, in the order of its statements.
  private func tables(of step: SaveStep) throws -> [OrderedTable] {
    switch step {
    case .insert(let entity, _), .update(let entity, _, _), .fix(let entity, _, _): [try table(of: entity)]
    case .delete(let entity, _): try cleared(by: entity) + [table(of: entity)]
    case .link(let table, _), .unlink(let table, _): [OrderedTable(links: try schema.requireLinkTable(table).name)]
    }
  }

  private func table(of entity: EntityDescription) throws -> OrderedTable {
    OrderedTable(table: try schema.requireTable(for: entity).name)
  }

  /// The tables whose left-out references to deleted records are cleared.
  private func cleared(by entity: EntityDescription) -> [OrderedTable] {
    schema.leftOutReferences(to: entity).lazy.filter { !$0.retainsTarget }.map { OrderedTable(table: $0.table) }
  }
}

extension StoreSaveRequest {
  /// Whether the save certainly writes and locks no more than one table, as most small saves do.
  fileprivate var writesOneTable: Bool {
    guard steps.count == 1, memberCounts.isEmpty, derivations.isEmpty else { return false }
    // A delete may clear references in other tables.
    if case .delete = steps[0] { return false }
    return true
  }
}
