import CoherenceCore
import CoherenceSQL
import Foundation
import Synchronization

/// A store in a SQLite file.
///
/// Readers see one state and never wait for a save; saves run one after another, through the one connection of the
/// process that writes to the file. A save is durable when it returns (see ``SQLiteOption/synchronous``).
final class SQLiteStore: PersistentStore {
  let environment: StoreEnvironment
  let spaces: IDSpaces
  let capabilities: StoreCapabilities = [.durable, .shared, .concurrentReads, .file]

  let schema: SQLSchema
  let planner: QueryPlanner
  let saveStatements: SaveStatements
  /// The statements that read a row by its key, by hierarchy.
  let rowQueries: RowQueries<RowQuery>
  let pool: SQLiteReaderPool
  /// The reserved keys for this process's inserts.
  let keys = KeyBlocks()
  /// Distinguishes the file's states; `nil` in a store that only reads.
  let states: SQLiteStates?
  private let path: String
  /// The shared file; `nil` in a store that only reads.
  private let file: Mutex<SQLiteFile?>
  private let isClosed = Atomic<Bool>(false)
  /// The listeners of a store that only reads.
  let readerSignals = SignalHub()

  /// The statement that reads a row by its key, and the decoder of the hierarchy's rows.
  struct RowQuery: Sendable {
    let text: String
    let decoder: SQLiteRowDecoder
  }

  init(_ environment: StoreEnvironment, path: String) throws {
    let options = try SQLiteOptions(environment)
    let logger = environment.logger
    if options.isReadOnly || environment.isPartialModel, !FileManager.default.fileExists(atPath: path) {
      throw CoherenceError(
        .storeInaccessible,
        SQLiteErrorTranslator.obstacle(path)
          ?? "'\(path)' does not exist; a store that is opened to read only, or with a partial model, is not created.")
    }
    if options.isReadOnly { try SQLiteFile.checkPath(path) }
    let file = options.isReadOnly ? nil : try SQLiteFile.shared(path: path, options: options, logger: logger)
    let pool = SQLiteReaderPool(options: options, logger: logger, files: file?.files ?? SQLiteFiles(path: path))
    let schemaChange = try Self.prepare(environment, path: path, file: file, pool: pool)

    self.environment = environment
    self.path = path
    self.pool = pool
    self.file = Mutex(file)
    states = file?.states
    schema = schemaChange.schema
    let spaces = IDSpaces(store: schemaChange.state.metadata.identifier, model: environment.model)
    self.spaces = spaces
    let planner = QueryPlanner(schema: schema, dialect: SQLiteDialect(), spaces: spaces)
    self.planner = planner
    saveStatements = SaveStatements(schema: schema, dialect: SQLiteDialect())
    rowQueries = try RowQueries(of: planner) { statement, layout in
      RowQuery(text: statement.text, decoder: SQLiteRowDecoder(layout, spaces: spaces))
    }
    // Last, because a store whose initializer throws is never closed.
    file?.storeDidOpen()
  }

  /// Compares the file's schema with the model, and migrates a schema that differs, in one transaction.
  ///
  /// - Returns: The change, with the schema and the state of the store after it. For an equal schema, the change is not
  ///   needed.
  private static func prepare(
    _ environment: StoreEnvironment, path: String, file: SQLiteFile?, pool: SQLiteReaderPool
  ) throws -> SchemaChange {
    func plan(_ session: SQLiteSession) throws -> SchemaChange {
      try Self.change(from: session.storeState(path: path), to: environment, path: path)
    }
    func prepared(_ session: SQLiteSession) throws -> SchemaChange {
      let planned = try session.inReadTransaction {
        // A store that only reads has no writer that noted the files.
        defer { if file == nil { session.noteFiles() } }
        return try plan(session)
      }
      if !planned.isNeeded { return planned }
      guard file != nil else {
        throw CoherenceError(.notADatabase, "'\(path)' is empty and was opened to read only; open it to write once.")
      }
      var losses: [DataLoss] = []
      var backup: SQLiteBackup?
      let made: SchemaChange
      do {
        made = try session.inWriteTransaction {
          // Another process may have been faster.
          var change = try plan(session)
          guard change.isNeeded else { return change }
          losses = try change.resolve { Int(try session.integers($0).first ?? 0) }
          if !losses.isEmpty { backup = try self.backup(of: path, pool: pool) }
          if change.writesStore { try session.apply(change) }
          try backup?.finish()
          return change
        }
      } catch {
        // A commit with an unknown outcome may have dropped the values, which then only the copy has.
        if (error as? SQLiteFailure)?.isOutcomeUnknown != true { backup?.discard() }
        throw error
      }
      // After the commit, because the log records completed changes.
      if made.isNeeded { made.log(losses, backup: backup?.path) }
      return made
    }
    if let file { return try file.write(prepared) }
    return try pool.withConnection(prepared)
  }

  /// Compares a file with the model.
  ///
  /// - Parameter state: The recorded state of the store; `nil` for an empty file.
  static func change(from state: StoreState?, to environment: StoreEnvironment, path: String) throws -> SchemaChange {
    try SchemaChange(
      from: state, to: environment, dialect: SQLiteDialect(), location: "'\(path)'",
      elsewhere: "Choose another file for it.")
  }

  /// Copies the file as it was committed last.
  private static func backup(of path: String, pool: SQLiteReaderPool) throws -> SQLiteBackup {
    try pool.withConnection { try SQLiteBackup(of: path, reading: $0) }
  }

  // MARK: Connections

  var errors: SQLiteErrorTranslator { SQLiteErrorTranslator(path: path, files: pool.files) }

  func checkOpen() throws {
    if isClosed.load(ordering: .acquiring) { throw Self.closed }
  }

  private static var closed: CoherenceError {
    CoherenceError(.storeDetached, "The store was closed; attach it again to use it.")
  }

  /// Runs a block on the connection that writes.
  func write<T>(_ body: (SQLiteSession) throws -> T) throws -> T { try writableFile().write(body) }

  /// Returns the shared file for a change.
  ///
  /// - Throws: ``ErrorCode/storeReadOnly`` in a store that only reads; ``ErrorCode/storeDetached`` after the
  ///   store was closed.
  func writableFile() throws -> SQLiteFile {
    try checkOpen()
    if environment.isReadOnly { throw CoherenceError.openedToReadOnly }
    guard let file = file.withLock({ $0 }) else { throw Self.closed }
    return file
  }

  /// The shared file; `nil` in a store that only reads or is closed.
  var openFile: SQLiteFile? { file.withLock { $0 } }

  /// Whether the calling thread keeps other writers out of the file.
  var isExcludingWriters: Bool { file.withLock { $0?.isExcludingOthers } == true }

  /// Runs a block on a connection that reads.
  private func read<T>(_ body: (SQLiteSession) throws -> T) throws -> T {
    try checkOpen()
    return try recoveringDeletedLog {
      try pool.withConnection { session in try session.inReadTransaction { try body(session) } }
    }
  }

  /// Runs a block that reads. When a file of the store is missing, committed changes are brought into the database.
  @inline(__always) func recoveringDeletedLog<T>(_ body: () throws -> T) throws -> T {
    do {
      return try body()
    } catch {
      recoverDeletedLog(after: error)
      throw error
    }
  }

  /// Writes the content of a deleted log into the database after a reader's error. Only the writing connection still
  /// has the log open.
  @inline(never) func recoverDeletedLog(after error: any Error) {
    guard let error = error as? CoherenceError, error.isOfMissingFile, let file = file.withLock({ $0 }) else { return }
    do {
      try file.write { $0.recoverDeletedLog() }
    } catch {
      // The reader's error explains the failure already.
    }
  }

  // MARK: PersistentStore

  func metadata() throws -> StoreMetadata { try read { try state($0).metadata } }

  func setUserInfo(_ userInfo: [String: String]) throws {
    try write { session in
      try session.inWriteTransaction {
        var state = try state(session)
        state.metadata.userInfo = userInfo
        try session.write(state)
      }
    }
  }

  private func state(_ session: SQLiteSession) throws -> StoreState {
    guard let state = try session.storeState(path: path) else { throw CoherenceError.tablesRemoved(from: "'\(path)'") }
    return state
  }

  func makeReader() throws -> any StoreReader {
    try checkOpen()
    return SQLiteReader(self, connection: try recoveringDeletedLog { try pool.acquire() })
  }

  func close() {
    guard !isClosed.exchange(true, ordering: .acquiringAndReleasing) else { return }
    readerSignals.close()
    pool.close()
    let former = file.withLock { file in
      defer { file = nil }
      return file
    }
    // Released after the lock: the last reference closes the connection.
    former?.storeDidClose()
  }

  deinit { close() }
}
