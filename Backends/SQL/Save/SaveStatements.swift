package import CoherenceCore
import Synchronization

/// A statement of a save: its text, and the source of each parameter's value.
package struct SaveStatement: Sendable {
  package var text: String
  package var parameters: [SaveParameter]
}

/// The source of a parameter's value.
package enum SaveParameter: Sendable {
  /// The record's key.
  case id
  /// The version of the row to write.
  case version
  /// The version that the store must have.
  case baseVersion
  /// The name of the row's entity in records.
  case entity
  /// The row's value in a slot.
  case slot(Int, StorageType)
  /// The key at an end of a link, and the position of the link among the links of that end.
  case source, target, sourcePosition, targetPosition
}

/// The statements for the steps of a save. A step's statement is the same for all of its rows. Statements that add and
/// change rows are cached, because making such a statement takes longer than running it.
package final class SaveStatements: Sendable {
  private let schema: SQLSchema
  private let dialect: any SQLDialect
  private let cache = Mutex<[CacheKey: SaveStatement]>([:])
  /// The greatest number of cached statements, after which the cache is cleared: an entity has many sets of slots.
  private static let limit = 256

  /// The properties on which the text of a statement depends.
  private enum CacheKey: Hashable {
    case insert(ObjectIdentifier, rows: Int)
    case update(ObjectIdentifier, SlotSet)
  }

  package init(schema: SQLSchema, dialect: any SQLDialect) {
    self.schema = schema
    self.dialect = dialect
  }

  /// The cached statement of a key. A missing statement is made without the lock, so that two threads may make it.
  private func cached(_ key: CacheKey, _ make: () throws -> SaveStatement) rethrows -> SaveStatement {
    if let statement = cache.withLock({ $0[key] }) { return statement }
    let statement = try make()
    cache.withLock { cache in
      if cache.count >= Self.limit { cache.removeAll() }
      cache[key] = statement
    }
    return statement
  }

  /// Adds rows: the parameters are those of one row after the other.
  package func insert(_ entity: EntityDescription, rows: Int = 1) throws -> SaveStatement {
    try cached(.insert(ObjectIdentifier(entity), rows: rows)) { try makeInsert(entity, rows: rows) }
  }

  /// Writes slots and version of a row at the base version. Changes one row, or none at another version.
  package func update(_ entity: EntityDescription, slots: SlotSet) throws -> SaveStatement {
    try cached(.update(ObjectIdentifier(entity), slots)) { try makeUpdate(entity, slots: slots) }
  }

  private func makeInsert(_ entity: EntityDescription, rows: Int) throws -> SaveStatement {
    let table = try schema.requireTable(for: entity)
    let columns = table.positions(of: entity).map { table.columns[$0] }
    let names = [SQLTable.id, SQLTable.version, SQLTable.entity] + columns.map(\.name)
    let slots = columns.enumerated().map { SaveParameter.slot($0.offset, $0.element.storage) }
    let values = (0..<rows).map { row in
      "(\(placeholders(row * names.count..<(row + 1) * names.count)))" as SQLFragment
    }
    let text: SQLFragment = "INSERT INTO \(name: table.name) (\(names: names)) VALUES \(values.joined(separator: ", "))"
    return statement(text, Array(repeating: [.id, .version, .entity] + slots, count: rows).flatMap(\.self))
  }

  private func makeUpdate(_ entity: EntityDescription, slots: SlotSet) throws -> SaveStatement {
    let table = try schema.requireTable(for: entity)
    let (set, parameters) = assignments(slots, of: entity, in: table)
    let version: SQLFragment = "\(name: SQLTable.version) = \(placeholder(parameters.count))"
    let text: SQLFragment = """
      UPDATE \(name: table.name) SET \((set + [version]).joined(separator: ", ")) \
      WHERE \(name: SQLTable.id) = \(placeholder(parameters.count + 1)) \
      AND \(name: SQLTable.version) = \(placeholder(parameters.count + 2))
      """
    return statement(text, parameters + [.version, .id, .baseVersion])
  }

  /// Writes slots of a row at any version; `nil` for no slots.
  package func fix(_ entity: EntityDescription, slots: SlotSet) throws -> SaveStatement? {
    guard !slots.isEmpty else { return nil }
    let table = try schema.requireTable(for: entity)
    let (set, parameters) = assignments(slots, of: entity, in: table)
    let text: SQLFragment = """
      UPDATE \(name: table.name) SET \(set.joined(separator: ", ")) \
      WHERE \(name: SQLTable.id) = \(placeholder(parameters.count))
      """
    return statement(text, parameters + [.id])
  }

  /// Removes a row at the base version. Changes one row, or none at another version.
  package func delete(_ entity: EntityDescription) throws -> SaveStatement {
    let table = try schema.requireTable(for: entity)
    let text: SQLFragment = """
      DELETE FROM \(name: table.name) \
      WHERE \(name: SQLTable.id) = \(placeholder(0)) AND \(name: SQLTable.version) = \(placeholder(1))
      """
    return statement(text, [.id, .baseVersion])
  }

  /// Removes the rows of a range of keys that are at a version. The parameters are the first key, the last key and the
  /// version. For rows that are all at one version.
  package func deleteRange(_ entity: EntityDescription) throws -> SaveStatement {
    let table = try schema.requireTable(for: entity)
    let text: SQLFragment = """
      DELETE FROM \(name: table.name) \
      WHERE \(name: SQLTable.id) BETWEEN \(placeholder(0)) AND \(placeholder(1)) \
      AND \(name: SQLTable.version) = \(placeholder(2))
      """
    return statement(text, [])
  }

  /// Clears a left-out reference to a deleted record. The key of the statement is that of the deleted record.
  package func clear(_ reference: SQLLeftOutReference) -> SaveStatement {
    statement(
      """
      UPDATE \(name: reference.table) SET \(reference.clearingAssignments) \
      WHERE \(name: reference.column) = \(placeholder(0))
      """, [.id])
  }

  /// Adds a link, or gives its positions to an existing link. A missing position keeps the existing link's position.
  package func link(_ links: LinkTable) throws -> SaveStatement {
    let table = try schema.requireLinkTable(links)
    let positions = [table.sourcePosition, table.targetPosition]
    let ends = [table.source, table.target]
    let set = positions.map { position in
      """
      \(name: position) = COALESCE(\(.column(position, of: "excluded")), \(.column(position, of: table.name)))
      """ as SQLFragment
    }.joined(separator: ", ")
    let text: SQLFragment = """
      INSERT INTO \(name: table.name) (\(names: ends + positions)) VALUES (\(placeholders(0..<4))) \
      ON CONFLICT (\(names: ends)) DO UPDATE SET \(set)
      """
    return statement(text, [.source, .target, .sourcePosition, .targetPosition])
  }

  /// Removes a link; does nothing for a missing link.
  package func unlink(_ links: LinkTable) throws -> SaveStatement {
    let table = try schema.requireLinkTable(links)
    let text: SQLFragment = """
      DELETE FROM \(name: table.name) \
      WHERE \(name: table.source) = \(placeholder(0)) AND \(name: table.target) = \(placeholder(1))
      """
    return statement(text, [.source, .target])
  }

  // MARK: Parts

  /// The placeholder of a parameter by its index.
  private func placeholder(_ index: Int) -> SQLFragment { SQLFragment(.text(dialect.placeholder(index + 1))) }

  private func placeholders(_ indices: Range<Int>) -> SQLFragment { indices.map(placeholder).joined(separator: ", ") }

  /// The assignments of slots for the SET clause, with their parameters, which come first in the statement.
  private func assignments(
    _ slots: SlotSet, of entity: EntityDescription, in table: SQLTable
  ) -> ([SQLFragment], [SaveParameter]) {
    var set: [SQLFragment] = []
    var parameters: [SaveParameter] = []
    for slot in slots {
      let column = table.column(slot, of: entity)
      set.append("\(name: column.name) = \(placeholder(parameters.count))")
      parameters.append(.slot(slot, column.storage))
    }
    return (set, parameters)
  }

  private func statement(_ text: SQLFragment, _ parameters: [SaveParameter]) -> SaveStatement {
    SaveStatement(text: text.text(in: dialect), parameters: parameters)
  }
}
