import CoherenceCore
import CoherenceSQL
import Foundation

/// A store in a schema of a PostgreSQL database.
///
/// A reader has a connection from its first read on, and its reads see one state. Between two reads, the pool may
/// reclaim the connection of a reader whose context permits another state. The next read then begins a new state.
///
/// A save is one transaction, durable when it returns.
final class PostgreSQLStore: PersistentStore {
  let environment: StoreEnvironment
  let spaces: IDSpaces
  let capabilities: StoreCapabilities = [.durable, .shared, .concurrentReads]

  let schema: SQLSchema
  let planner: QueryPlanner
  let saveStatements: SaveStatements
  let pool: PostgreSQLPool
  /// The keys that the store has reserved in the database for new records.
  let keys = KeyBlocks()
  /// The listeners of the store.
  let signals = SignalHub()
  /// The statements that read a row by its key, by hierarchy.
  let rowQueries: RowQueries<RowQuery>

  /// The statement that reads a row by its key, and the decoder of the hierarchy's rows.
  struct RowQuery: Sendable {
    let text: PostgreSQLText
    let decoder: PostgreSQLRowDecoder
  }

  init(_ environment: StoreEnvironment, options: PostgreSQLOptions) throws {
    let pool = PostgreSQLPool(options, logger: environment.logger)
    let change = try pool.withConnection(for: .saving) { connection in
      try PostgreSQLCatalog(connection, schema: options.schema).prepare(environment)
    }
    let dialect = PostgreSQLDialect()
    let spaces = IDSpaces(store: change.state.metadata.identifier, model: environment.model)
    let planner = QueryPlanner(schema: change.schema, dialect: dialect, spaces: spaces)
    self.environment = environment
    self.spaces = spaces
    self.pool = pool
    self.planner = planner
    schema = change.schema
    saveStatements = SaveStatements(schema: change.schema, dialect: dialect)
    rowQueries = try RowQueries(of: planner) { statement, layout in
      RowQuery(text: PostgreSQLText(statement), decoder: PostgreSQLRowDecoder(layout, spaces: spaces))
    }
  }

  func makeReader() throws -> any StoreReader {
    try pool.checkIsOpen()
    return PostgreSQLReader(self)
  }

  func close() {
    signals.close()
    pool.close()
  }

  deinit { pool.close() }

  // MARK: Metadata

  func metadata() throws -> StoreMetadata {
    // A short call, so that it uses the connection reserved for saves: a reader of this thread may have another.
    try pool.withConnection(for: .saving) { try catalog($0).requireState(of: identifier).metadata }
  }

  func setUserInfo(_ userInfo: [String: String]) throws {
    try write { try catalog($0).changeState(of: identifier) { $0.metadata.userInfo = userInfo } }
  }

  private func catalog(_ connection: PostgreSQLConnection) -> PostgreSQLCatalog {
    PostgreSQLCatalog(connection, schema: pool.options.schema)
  }

  // MARK: Writing

  /// Checks that the store is open, and open to write.
  ///
  /// - Throws: ``ErrorCode/storeReadOnly``, ``ErrorCode/storeDetached``.
  func checkIsWritable() throws {
    try pool.checkIsOpen()
    if environment.isReadOnly { throw CoherenceError.openedToReadOnly }
  }

  /// Runs a block with a connection for writing.
  ///
  /// - Parameter endsReading: Whether the block may get the connection of a reader of this thread with the reader's
  ///   transaction still open. The block then ends that transaction.
  /// - Throws: ``ErrorCode/storeReadOnly``, ``ErrorCode/storeDetached``, ``ErrorCode/tooManyConnections``.
  func write<T>(endsReading: Bool = false, _ body: (PostgreSQLConnection) throws -> T) throws -> T {
    try checkIsWritable()
    return try endsReading ? pool.withSaver(body) : pool.withConnection(for: .saving, body)
  }
}
