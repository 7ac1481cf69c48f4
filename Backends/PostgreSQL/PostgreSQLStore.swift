import CoherenceCore
import CoherenceSQL
import Foundation

/// A store in a schema of a PostgreSQL database.
///
/// Each reader has a connection and sees one state. A save is one transaction, durable when it returns.
final class PostgreSQLStore: PersistentStore {
  let environment: StoreEnvironment
  let spaces: IDSpaces
  let capabilities: StoreCapabilities = [.durable, .shared, .concurrentReads]

  let schema: SQLSchema
  let planner: QueryPlanner
  let saveStatements: SaveStatements
  let pool: PostgreSQLPool
  let keys = KeyBlocks()
  /// The listeners of the store.
  let signals = SignalHub()
  /// The statements that read a row by its key, by hierarchy.
  private let rowQueries: [ObjectIdentifier: RowQuery]

  /// The statement and the decoder that read a row by its key.
  struct RowQuery: Sendable {
    let one: PostgreSQLText
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
    var queries: [ObjectIdentifier: RowQuery] = [:]
    for table in change.schema.tables {
      let (statement, layout) = try planner.row(0, of: table.root)
      queries[ObjectIdentifier(table.root)] = RowQuery(
        one: PostgreSQLText(statement.rendered(by: dialect)), decoder: PostgreSQLRowDecoder(layout, spaces: spaces))
    }
    rowQueries = queries
  }

  func rowQuery(_ root: EntityDescription) throws -> RowQuery {
    guard let query = rowQueries[ObjectIdentifier(root.root)] else { throw SQLSchema.missingEntity(root) }
    return query
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
    try pool.withConnection(for: .saving) { try catalog($0).requireState().metadata }
  }

  func setUserInfo(_ userInfo: [String: String]) throws {
    try write { connection in try catalog(connection).changeState { $0.metadata.userInfo = userInfo } }
  }

  private func catalog(_ connection: PostgreSQLConnection) -> PostgreSQLCatalog {
    PostgreSQLCatalog(connection, schema: pool.options.schema)
  }

  // MARK: Writing

  /// - Throws: ``ErrorCode/storeReadOnly``, ``ErrorCode/storeDetached``.
  func checkIsWritable() throws {
    try pool.checkIsOpen()
    if environment.isReadOnly { throw CoherenceError.openedToReadOnly }
  }

  /// Runs a block with a connection for writing.
  ///
  /// - Parameter endsReading: Whether a transaction of reading may be open on the connection, which the block ends.
  /// - Throws: ``ErrorCode/storeReadOnly``, ``ErrorCode/storeDetached``, ``ErrorCode/tooManyConnections``.
  func write<T>(endsReading: Bool = false, _ body: (PostgreSQLConnection) throws -> T) throws -> T {
    try checkIsWritable()
    return try endsReading ? pool.withSaver(body) : pool.withConnection(for: .saving, body)
  }
}
