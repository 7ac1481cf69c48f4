@testable import CoherenceCore

/// Takes the steps of a save like an engine that checks every constraint after every row: references lead to existing rows,
/// values are unique, updates and deletes find the version that they are based on.
struct StrictEngine {
  struct Violation: Error, CustomStringConvertible {
    let description: String
  }

  /// A link without its positions.
  struct Ends: Hashable {
    let table: LinkTable
    let source: Int64
    let target: Int64
  }

  private(set) var rows: [ManagedObjectID: Row] = [:]
  private(set) var links: Set<Ends> = []

  init(_ rows: [Row], links: Set<Ends> = []) {
    for row in rows { self.rows[row.id] = row }
    self.links = links
  }

  /// Takes all steps.
  ///
  /// - Throws: A ``Violation`` for the first row that breaks a constraint.
  mutating func take(_ request: StoreSaveRequest) throws {
    for step in request.steps {
      switch step {
      case .unlink(let table, let links):
        for link in links { self.links.remove(Ends(table: table, source: link.source, target: link.target)) }
      case .link(let table, let links): for link in links { try add(link, to: table) }
      case .fix(_, let slots, let rows): for row in rows { try write(row, slots, version: nil) }
      case .delete(_, let deletes): for delete in deletes { try remove(delete) }
      case .insert(_, let rows): for row in rows { try insert(row) }
      case .update(_, let slots, let updates):
        for update in updates {
          try checkVersion(update.row.id, update.baseVersion)
          try write(update.row, slots, version: update.row.version)
        }
      }
    }
  }

  private mutating func insert(_ row: Row) throws {
    if rows[row.id] != nil { throw Violation(description: "\(row.id) is inserted twice") }
    rows[row.id] = row
    try check(row)
  }

  private mutating func write(_ row: Row, _ slots: SlotSet, version: Int64?) throws {
    guard let stored = rows[row.id] else { throw Violation(description: "\(row.id) is written, and is not there") }
    var values = stored.values
    for slot in slots { values[slot] = row[slot] }
    let written = Row.make(id: row.id, entity: row.entity, version: version ?? stored.version, values: values)
    rows[row.id] = written
    try check(written)
  }

  private mutating func remove(_ delete: RowDelete) throws {
    try checkVersion(delete.id, delete.baseVersion)
    rows[delete.id] = nil
    for row in rows.values {
      for slot in Self.constrainedSlots(of: row.entity) where row[slot] == .reference(delete.id) {
        throw Violation(description: "\(delete.id) is deleted, and \(row.id) refers to it")
      }
    }
    for ends in links where Self.leads(ends, to: delete.id) {
      throw Violation(description: "\(delete.id) is deleted, and has a link")
    }
  }

  private mutating func add(_ link: Link, to table: LinkTable) throws {
    let added = Ends(table: table, source: link.source, target: link.target)
    let ids = rows.keys.filter { Self.leads(added, to: $0) }
    guard ids.contains(where: { $0.key == link.source && $0.entity === table.sourceRoot }),
      ids.contains(where: { $0.key == link.target && $0.entity === table.targetRoot })
    else { throw Violation(description: "A link of \(table.name) leads to a missing row") }
    links.insert(added)
  }

  /// Whether a record is one of the two that a link connects.
  private static func leads(_ ends: Ends, to id: ManagedObjectID) -> Bool {
    (ends.source == id.key && ends.table.sourceRoot === id.entity)
      || (ends.target == id.key && ends.table.targetRoot === id.entity)
  }

  private func checkVersion(_ id: ManagedObjectID, _ version: Int64) throws {
    guard rows[id]?.version == version else {
      throw Violation(description: "\(id) is at \(rows[id]?.version ?? 0), not at \(version)")
    }
  }

  private func check(_ row: Row) throws {
    for slot in Self.constrainedSlots(of: row.entity) {
      if case .reference(let target) = row[slot], rows[target] == nil {
        throw Violation(description: "\(row.id) refers to \(target), which is not there")
      }
    }
    for constraint in row.entity.uniquenessConstraints {
      let slots = constraint.map(\.slotInRow)
      let values = slots.map { row[$0] }
      guard !values.contains(where: \.isNull) else { continue }
      let holders = rows.values.filter { other in
        other.entity.root === row.entity.root && slots.map { other[$0] } == values
      }
      if holders.count > 1 { throw Violation(description: "\(row.id) has a value that another row has") }
    }
  }

  private static func constrainedSlots(of entity: EntityDescription) -> [Int] {
    entity.relationships.filter(\.isConstrained).compactMap(\.slot)
  }
}
