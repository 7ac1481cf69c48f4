import CoherenceCore
import CoherenceSQL

/// A statement that writes many rows at once, as a ``SaveStatement`` writes one row. Each parameter is the array of the
/// rows' values.
///
/// An update or a delete changes fewer rows than given if some have another version, and does not report which.
struct PostgreSQLBulkStatement {
  let text: PostgreSQLText
  let parameters: [SaveParameter]

  /// - Parameter isPrepared: As ``PostgreSQLText/isPrepared``.
  private init(_ text: SQLFragment, _ parameters: [SaveParameter], isPrepared: Bool = true) {
    self.text = PostgreSQLText(
      text.text(in: PostgreSQLDialect()), types: parameters.map { PostgreSQLBinary.arrayType(of: $0.storage) },
      isPrepared: isPrepared)
    self.parameters = parameters
  }

  /// Writes slots and version of the rows at their base version.
  static func update(_ entity: EntityDescription, slots: SlotSet, in schema: SQLSchema) throws -> Self {
    let table = try schema.requireTable(for: entity)
    let columns = slots.map { (slot: $0, column: table.column($0, of: entity)) }
    let names = columns.map(\.column.name) + [SQLTable.version]
    let set: [SQLFragment] = names.enumerated().map { "\(name: $1) = \(given($0))" }
    let parameters = columns.map { SaveParameter.slot($0.slot, $0.column.storage) } + [.version, .id, .baseVersion]
    let text: SQLFragment = """
      UPDATE \(name: table.name) AS \(name: stored) SET \(set.joined(separator: ", ")) \
      FROM \(rows(parameters.count)) WHERE \(isSame(key: names.count, version: names.count + 1))
      """
    return Self(text, parameters)
  }

  /// Removes the rows at their base version.
  static func delete(_ entity: EntityDescription, in schema: SQLSchema) throws -> Self {
    let table = try schema.requireTable(for: entity)
    let text: SQLFragment = """
      DELETE FROM \(name: table.name) AS \(name: stored) USING \(rows(2)) WHERE \(isSame(key: 0, version: 1))
      """
    return Self(text, [.id, .baseVersion])
  }

  /// Inserts the rows, or changes the rows with their unique values.
  static func upsert(_ statements: UpsertStatements) -> Self {
    let columns = statements.columns
    let values = columns.indices.map(given).joined(separator: ", ")
    return Self(statements.statement("SELECT \(values) FROM \(rows(columns.count))"), columns.map(\.parameter))
  }

  /// Splits the rows into ranges, one for each execution of the statement.
  ///
  /// - Parameter value: The value of the row at an index for a parameter.
  func ranges(of count: Int, _ value: (Int, SaveParameter) -> AttributeValue) -> [Range<Int>] {
    let sized = parameters.filter { $0.storage == .string || $0.storage == .data }
    var ranges: [Range<Int>] = []
    var (start, bytes) = (0, 0)
    for index in 0..<count {
      let size = sized.reduce(0) { $0 + value(index, $1).byteCount }
      if index > start, index - start >= Self.greatestRowCount || bytes + size > Self.greatestByteCount {
        ranges.append(start..<index)
        (start, bytes) = (index, 0)
      }
      bytes += size
    }
    if start < count { ranges.append(start..<count) }
    return ranges
  }

  /// The most rows of one execution.
  static let greatestRowCount = 4_096
  /// The most bytes of texts and data in one execution with several rows. A message has at most 1 GB.
  private static let greatestByteCount = 1 << 25

  /// Clears a left-out reference to deleted records, see `SQLLeftOutReference`. The server plans each execution for its
  /// list of records; see ``SQLBinding/isLongList``.
  static func clear(_ reference: SQLLeftOutReference) -> Self {
    let keys = SQLFragment(.text(PostgreSQLDialect().placeholder(1)))
    let text: SQLFragment = """
      UPDATE \(name: reference.table) SET \(reference.clearingAssignments) \
      WHERE \(name: reference.column) = ANY(\(keys))
      """
    return Self(text, [.id], isPrepared: false)
  }

  // MARK: Parts

  /// The name of the changed table in the statement.
  private static let stored = "t"
  /// The name of the table of given rows in the statement.
  private static let source = "u"

  /// A row's value for the parameter at an index.
  private static func given(_ index: Int) -> SQLFragment { .column("c\(index)", of: source) }

  /// The given rows, as a table.
  private static func rows(_ count: Int) -> SQLFragment {
    let columns = (0..<count).map { index in
      "pg_catalog.unnest(\(SQLFragment(.text(PostgreSQLDialect().placeholder(index + 1)))))" as SQLFragment
    }
    return """
      ROWS FROM (\(columns.joined(separator: ", "))) AS \(name: source) (\(names: (0..<count).map { "c\($0)" }))
      """
  }

  /// The condition that a stored row has the given key and the given version, by the indexes of their parameters.
  private static func isSame(key: Int, version: Int) -> SQLFragment {
    """
    \(.column(SQLTable.id, of: stored)) = \(given(key)) AND \(.column(SQLTable.version, of: stored)) = \(given(version))
    """
  }
}

extension SaveParameter {
  /// The representation of the parameter's values.
  var storage: StorageType {
    switch self {
    case .id, .version, .baseVersion, .source, .target, .sourcePosition, .targetPosition: .int64
    case .entity: .string
    case .slot(_, let storage): storage
    }
  }
}

extension RowUpdate {
  /// The value for a parameter of an update.
  func value(_ parameter: SaveParameter) -> AttributeValue {
    switch parameter {
    case .slot(let slot, _): row[slot]
    case .id: .int(row.key)
    case .version: .int(row.version)
    default: .int(baseVersion)
    }
  }
}

extension RowDelete {
  /// The value for a parameter of a delete.
  func value(_ parameter: SaveParameter) -> AttributeValue {
    if case .id = parameter { .int(id.key) } else { .int(baseVersion) }
  }
}

extension AttributeValue {
  /// The bytes of a text or of data; 0 for any other value.
  fileprivate var byteCount: Int {
    switch self {
    case .string(let text): text.utf8.count
    case .data(let data): data.count
    default: 0
    }
  }
}
