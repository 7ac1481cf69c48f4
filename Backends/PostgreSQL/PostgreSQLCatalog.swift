import CoherenceCore
import CoherenceSQL
import Foundation

/// Creates, changes, moves and drops the tables of a store in a schema of the database, and reads and writes the state
/// that the store records of itself. Its statements run once, so that the connection keeps none of them prepared.
struct PostgreSQLCatalog {
  private let connection: PostgreSQLConnection
  private let schema: String

  init(_ connection: PostgreSQLConnection, schema: String) {
    self.connection = connection
    self.schema = schema
  }

  private var location: String { "The schema '\(schema)'" }

  // MARK: Reading

  /// Reads the state that the store has recorded of itself; `nil` if the schema has no store.
  func state() throws -> StoreState? {
    guard try hasTable(SQLSchema.metadataTable) else { return nil }
    let result = try connection.run(
      "SELECT \(name: "key"), \(name: "value") FROM \(name: schema).\(name: SQLSchema.metadataTable)", isKept: false)
    var entries: [String: String] = [:]
    for row in 0..<result.rowCount {
      if let key = result.text(row, 0) { entries[key] = result.text(row, 1) }
    }
    return try StoreState(entries: entries, location: location)
  }

  /// Reads the state that the store has recorded of itself.
  ///
  /// - Throws: ``ErrorCode/schemaChanged`` if the schema has no store any more.
  func requireState() throws -> StoreState {
    guard let state = try state() else { throw CoherenceError.tablesRemoved(from: "the schema '\(schema)'") }
    return state
  }

  private func hasTable(_ table: String) throws -> Bool {
    try connection.run(
      """
      SELECT 1 FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
      WHERE n.nspname = \(text: schema) AND c.relname = \(text: table)
      """, isKept: false
    ).rowCount > 0
  }

  private func hasSchema(_ name: String) throws -> Bool {
    try connection.run("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = \(text: name)", isKept: false).rowCount
      > 0
  }

  // MARK: Changing

  /// Creates the store in the schema, or extends the store to the environment's model.
  func prepare(_ environment: StoreEnvironment) throws -> SchemaChange {
    let planned = try plan(environment)
    guard try planned.isNeeded || commitTableNeedsMaintenance(environment) else { return planned }
    guard !environment.isReadOnly else {
      throw CoherenceError(
        .notADatabase, "\(location) has no store and was opened to read only; open it to write once.")
    }
    var losses: [DataLoss] = []
    let made = try inTransaction {
      // Another process may have made the change in the meantime.
      var change = try plan(environment)
      if change.isNeeded {
        try lock(change.countedTables, "ACCESS EXCLUSIVE")
        // The lock mode lets readers continue.
        try lock(change.constrainedTables, "SHARE ROW EXCLUSIVE")
        losses = try change.resolve { Int(try connection.run($0, isKept: false).int(0, 0) ?? 0) }
        if change.writesStore { try apply(change) }
      }
      try connection.run(PostgreSQLCommitMark.creation(in: schema), isKept: false)
      return change
    }
    // Rows of former sessions stay if the user has no right to delete them.
    _ = try? connection.run(PostgreSQLCommitMark.removal(in: schema), isKept: false)
    // After the commit, because the log records completed changes.
    if made.isNeeded { made.log(losses, backup: nil) }
    return made
  }

  private func plan(_ environment: StoreEnvironment) throws -> SchemaChange {
    try SchemaChange(
      from: state(), to: environment, dialect: PostgreSQLDialect(), location: location,
      elsewhere: "Choose another schema for it with the option '\(PostgreSQLOption.schema)'.")
  }

  /// Locks tables against writers, so that the change can rely on a count of the records.
  private func lock(_ tables: [String], _ mode: SQLFragment) throws {
    guard !tables.isEmpty else { return }
    _ = try connection.run(
      tables.map { "LOCK TABLE \(name: self.schema).\(name: $0) IN \(mode) MODE" }, isKept: false)
  }

  /// Whether the store lacks the table of commits, or the table has expired rows.
  private func commitTableNeedsMaintenance(_ environment: StoreEnvironment) throws -> Bool {
    guard !environment.isReadOnly else { return false }
    guard try hasTable(PostgreSQLCommitMark.table) else { return true }
    if environment.isPartialModel { return false }
    return try connection.run(
      """
      SELECT 1 FROM \(name: schema).\(name: PostgreSQLCommitMark.table) \
      WHERE \(PostgreSQLCommitMark.isExpired) LIMIT 1
      """, isKept: false
    ).rowCount > 0
  }

  /// Runs the statements of a change, and records the state after it.
  private func apply(_ change: SchemaChange) throws {
    if try !hasSchema(schema) { try connection.run("CREATE SCHEMA \(name: schema)", isKept: false) }
    do {
      try change.run(
        write: { _ = try connection.run($0, isKept: false) }, values: values, integers: integers)
    } catch let error as CoherenceError {
      throw explanation(error)
    }
    try write(change.state)
  }

  /// The integers in the first column of a statement's rows.
  private func integers(_ statement: SQLFragment) throws -> [Int64] {
    try connection.run(statement, isKept: false).integers
  }

  /// The keys and the values in the rows of a statement.
  private func values(_ fragment: SQLFragment, _ storage: StorageType) throws -> ConversionStep.Values {
    let result = try connection.run(fragment, isKept: false)
    return try (0..<result.rowCount).map { row in
      guard let key = result.int(row, 0) else { throw ConversionStep.unreadable(storage) }
      guard let bytes = result.bytes(row, 1), let start = bytes.baseAddress else { return (key, .null) }
      guard let value = PostgreSQLBinary.value(start, count: bytes.count, as: storage) else {
        throw ConversionStep.unreadable(storage)
      }
      return (key, value)
    }
  }

  /// The error of a failed change, with a better sentence for tables of another program.
  private func explanation(_ error: CoherenceError) -> CoherenceError {
    guard let failure = error.serverFailure else { return error }
    switch failure.sqlState {
    case "42P07", "42710":
      return CoherenceError(
        .notADatabase,
        "\(location) has tables of another program (\(failure)); choose another schema with the option "
          + "'\(PostgreSQLOption.schema)'.", underlying: failure)
    default: return error
    }
  }

  /// Writes the state that the store records of itself.
  func write(_ state: StoreState) throws {
    _ = try connection.run(state.statements, isKept: false)
  }

  /// Changes the recorded state under a lock, so that concurrent changes follow each other.
  func changeState(_ body: (inout StoreState) -> Void) throws {
    try inTransaction {
      var state = try requireState()
      body(&state)
      try write(state)
    }
  }

  /// Moves the store's tables into a new schema, including tables of other models and programs.
  func setAside() throws -> String {
    try inTransaction {
      guard let state = try state() else { return "nowhere: the schema '\(schema)' has no store" }
      let target = try freeName()
      _ = try connection.run(
        ["CREATE SCHEMA \(name: target)"]
          + Self.tables(of: state).map {
            "ALTER TABLE IF EXISTS \(name: self.schema).\(name: $0) SET SCHEMA \(name: target)"
          },
        isKept: false)
      return "in the schema '\(target)'"
    }
  }

  /// Drops the store's tables. Other contents of the schema stay.
  func erase() throws {
    try inTransaction {
      guard let state = try state() else { return }
      _ = try connection.run(
        Self.tables(of: state).map { "DROP TABLE IF EXISTS \(name: self.schema).\(name: $0) CASCADE" }, isKept: false)
    }
  }

  /// The names of all tables that belong to the store.
  private static func tables(of state: StoreState) -> [String] {
    [SQLSchema.metadataTable, SQLSchema.keyTable, PostgreSQLCommitMark.table] + state.schema.tables.map(\.name)
      + state.schema.linkTables.map(\.name)
  }

  /// The name of a schema that does not exist, for the tables of ``setAside()``.
  private func freeName() throws -> String {
    let stamp = Date.now.nameStamp
    var number = 1
    while true {
      let suffix = ".\(stamp)\(number > 1 ? "-\(number)" : "").incompatible"
      var prefix = schema
      while prefix.utf8.count + suffix.utf8.count > PostgreSQLDialect().maximumNameBytes { prefix.removeLast() }
      if try !hasSchema(prefix + suffix) { return prefix + suffix }
      number += 1
    }
  }

  // MARK: Transactions

  /// Runs a block in a transaction while no other connection changes the schema's definition.
  private func inTransaction<T>(_ body: () throws -> T) throws -> T {
    _ = try connection.run(
      [
        "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
        "SELECT pg_catalog.pg_advisory_xact_lock(\(key: advisoryLockKey))",
      ],
      isKept: false)
    do {
      let result = try body()
      try commit()
      return result
    } catch {
      connection.rollBack()
      throw error
    }
  }

  /// Commits. When the response is lost, the outcome is unknown.
  private func commit() throws {
    do {
      _ = try connection.uninterrupted { try connection.run("COMMIT", isKept: false) }
    } catch var error as CoherenceError where error.code == .connectionLost || connection.isBroken {
      error.outcome = .unknown
      error.isRetryable = false
      throw error
    }
  }

  /// The key of the advisory lock: 64-bit FNV-1a of the schema's name, the same in every process.
  private var advisoryLockKey: Int64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in "coherence/\(schema)".utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
    return Int64(bitPattern: hash)
  }
}
