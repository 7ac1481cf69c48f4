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
      "SELECT \(name: "key"), \(name: "value") FROM \(name: schema).\(name: SQLSchema.metadataTable)", isPrepared: false
    )
    var entries: [String: String] = [:]
    for row in 0..<result.rowCount {
      if let key = result.text(row, 0) { entries[key] = result.text(row, 1) }
    }
    return try StoreState(entries: entries, location: location)
  }

  /// Reads the state that a store has recorded of itself.
  ///
  /// - Throws: ``ErrorCode/schemaChanged`` if the schema has no store any more, or another one.
  func requireState(of store: StoreIdentifier) throws -> StoreState {
    guard let state = try state() else { throw CoherenceError.tablesRemoved(from: "the schema '\(schema)'") }
    guard state.metadata.identifier == store else {
      throw CoherenceError.storeReplaced(in: "the schema '\(schema)'")
    }
    return state
  }

  private func hasTable(_ table: String) throws -> Bool {
    try connection.run(
      """
      SELECT 1 FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
      WHERE n.nspname = \(text: schema) AND c.relname = \(text: table)
      """, isPrepared: false
    ).rowCount > 0
  }

  private func hasSchema(_ name: String) throws -> Bool {
    try connection.run("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = \(text: name)", isPrepared: false)
      .rowCount
      > 0
  }

  // MARK: Changing

  /// Creates the store in the schema, or extends the store to the environment's model.
  func prepare(_ environment: StoreEnvironment) throws -> SchemaChange {
    let planned = try plan(environment)
    guard try planned.isNeeded || lacksCommitTable(environment) else {
      try removeExpiredCommits(environment)
      return planned
    }
    guard !environment.isReadOnly else {
      throw CoherenceError(
        .notADatabase, "\(location) has no store and was opened to read only; open it to write once.")
    }
    var losses: [DataLoss] = []
    let made = try inTransaction {
      // Another process may have made the change in the meantime.
      var change = try plan(environment)
      if change.isNeeded {
        try lock(change)
        losses = try change.resolve { Int(try connection.run($0, isPrepared: false).int(0, 0) ?? 0) }
        if change.writesStore {
          // The counts may have led to further tables.
          try lock(change)
          try apply(change)
        }
      }
      // The server demands the right to make tables even where `IF NOT EXISTS` makes none. The user may lack it.
      if try !hasTable(PostgreSQLCommitMark.table) {
        try connection.run(PostgreSQLCommitMark.creation(in: schema), isPrepared: false)
      }
      return change
    }
    // After the commit, because the log records completed changes.
    if made.isNeeded { made.log(losses, backup: nil) }
    try removeExpiredCommits(environment)
    return made
  }

  /// Describes the change that ``prepare(_:)`` would make; `nil` if the schema has no store. Writes nothing.
  func preview(_ environment: StoreEnvironment) throws -> MigrationPreview? {
    guard try state() != nil else { return nil }
    return try plan(environment).preview(integers)
  }

  private func plan(_ environment: StoreEnvironment) throws -> SchemaChange {
    try SchemaChange(
      from: state(), to: environment, dialect: PostgreSQLDialect(), location: location,
      elsewhere: "Choose another schema for it with the option '\(PostgreSQLOption.schema)'.")
  }

  /// Locks tables against writers, so that the change can rely on its counts of records, its searches for duplicates,
  /// and its derived values.
  ///
  /// Each table is locked once, in the order of ``PostgreSQLTableOrder``, so that these locks and a save never wait for
  /// each other.
  private func lock(_ change: SchemaChange) throws {
    guard let stored = try state()?.schema else { return }
    let tables = stored.tables.map(\.name).sorted() + stored.linkTables.map(\.name).sorted()
    let (counted, constrained) = (Set(change.countedTables), Set(change.constrainedTables))
    let locks = tables.compactMap { table -> SQLFragment? in
      // For derived values all tables, so that no save has begun that would wait for the change.
      let isLocked = !change.derivedTables.isEmpty || constrained.contains(table)
      guard isLocked || counted.contains(table) else { return nil }
      // The weaker mode lets readers continue.
      let mode: SQLFragment = counted.contains(table) ? "ACCESS EXCLUSIVE" : "SHARE ROW EXCLUSIVE"
      return "LOCK TABLE \(name: self.schema).\(name: table) IN \(mode) MODE"
    }
    if !locks.isEmpty { _ = try connection.run(locks, isPrepared: false) }
  }

  /// Whether a store that is opened to write lacks the table of commits.
  private func lacksCommitTable(_ environment: StoreEnvironment) throws -> Bool {
    try !environment.isReadOnly && !hasTable(PostgreSQLCommitMark.table)
  }

  /// Removes the expired rows of the table of commits, after a search that writes nothing: most openings find none.
  private func removeExpiredCommits(_ environment: StoreEnvironment) throws {
    guard !environment.isReadOnly, !environment.isPartialModel else { return }
    let expired = try connection.run(
      """
      SELECT 1 FROM \(name: schema).\(name: PostgreSQLCommitMark.table) \
      WHERE \(PostgreSQLCommitMark.isExpired) LIMIT 1
      """, isPrepared: false)
    guard expired.rowCount > 0 else { return }
    connection.removeExpiredCommits(in: schema)
  }

  /// Runs the statements of a change, and records the state after it.
  private func apply(_ change: SchemaChange) throws {
    if try !hasSchema(schema) { try connection.run("CREATE SCHEMA \(name: schema)", isPrepared: false) }
    do {
      try change.run(
        write: { _ = try connection.run($0, isPrepared: false) }, values: values, integers: integers)
    } catch let error as CoherenceError {
      throw explanation(error)
    }
    try write(change.state)
  }

  /// The integers in the first column of a statement's rows.
  private func integers(_ statement: SQLFragment) throws -> [Int64] {
    try connection.run(statement, isPrepared: false).integers
  }

  /// The keys and the values in the rows of a statement.
  private func values(_ fragment: SQLFragment, _ storage: StorageType) throws -> ConversionStep.Values {
    let result = try connection.run(fragment, isPrepared: false)
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
    _ = try connection.run(state.statements, isPrepared: false)
  }

  /// Changes the recorded state under a lock, so that concurrent changes follow each other.
  func changeState(of store: StoreIdentifier, _ body: (inout StoreState) -> Void) throws {
    try inTransaction {
      var state = try requireState(of: store)
      body(&state)
      try write(state)
    }
  }

  /// Moves all tables of the store into a new schema, also the tables that only other models of the store use. Other
  /// contents of the schema stay.
  func setAside() throws -> String {
    try inTransaction {
      guard let state = try state() else { return "nowhere: the schema '\(schema)' has no store" }
      let target = try freeName()
      _ = try connection.run(
        ["CREATE SCHEMA \(name: target)"]
          + Self.tables(of: state).map {
            "ALTER TABLE IF EXISTS \(name: self.schema).\(name: $0) SET SCHEMA \(name: target)"
          },
        isPrepared: false)
      return "in the schema '\(target)'"
    }
  }

  /// Drops the store's tables. Other contents of the schema stay.
  func erase() throws {
    try inTransaction {
      guard let state = try state() else { return }
      _ = try connection.run(
        Self.tables(of: state).map { "DROP TABLE IF EXISTS \(name: self.schema).\(name: $0) CASCADE" },
        isPrepared: false)
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

  /// Runs a block in a transaction while no other connection changes the schema's definition. Each wait for a lock of
  /// another program is limited.
  ///
  /// - Parameter body: Reads the state of the store, because it runs again after a deadlock with other programs: they
  ///   read tables in other orders than a change of the schema.
  private func inTransaction<T>(_ body: () throws -> T) throws -> T {
    do {
      return try connection.repeatingTransaction(for: .seconds(connection.options.schemaLockTimeout)) {
        try begin()
        let result = try body()
        try commit()
        return result
      }
    } catch {
      throw explanationOfLock(error)
    }
  }

  private func begin() throws {
    _ = try connection.beginningToWrite {
      try connection.run("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", isPrepared: false)
    }
    _ = try connection.run(
      [lockLimit, "SELECT pg_catalog.pg_advisory_xact_lock(\(key: advisoryLockKey))"], isPrepared: false)
  }

  /// The statement that limits each wait for a lock in the transaction.
  private var lockLimit: SQLFragment {
    // Zero would mean no limit.
    let milliseconds = max(Int(connection.options.schemaLockTimeout * 1000), 1)
    return "SELECT pg_catalog.set_config('lock_timeout', \(text: String(milliseconds)), true)"
  }

  /// The error of a transaction. The error of a lock timeout says what to do.
  private func explanationOfLock(_ error: any Error) -> any Error {
    guard let failure = error.serverFailure, failure.isLockTimeout else { return error }
    return CoherenceError(
      .storeBusy,
      "\(location) was not changed, because another program changes it, or has a transaction on its tables open, for "
        + "longer than the option '\(PostgreSQLOption.schemaLockTimeout)' allows; end the transaction or the program "
        + "and try again, or raise the option.", underlying: failure, isRetryable: true)
  }

  /// Commits. When the response is lost, the outcome is unknown.
  private func commit() throws {
    do {
      _ = try connection.uninterrupted { try connection.run("COMMIT", isPrepared: false) }
    } catch var error as CoherenceError where error.code == .connectionLost || connection.isBroken {
      error.outcome = .unknown
      error.isRetryable = false
      throw error
    }
  }

  /// The key of the advisory lock: 64-bit FNV-1a of the schema's name, the same in every process.
  var advisoryLockKey: Int64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in "coherence/\(schema)".utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
    return Int64(bitPattern: hash)
  }
}
