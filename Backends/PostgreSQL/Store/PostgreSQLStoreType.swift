public import CoherenceCore
import CoherenceSQL
import Foundation

extension StoreType {
  /// A store in a schema of a PostgreSQL database, named by the configuration's location:
  /// `postgresql://user@host/database?sslmode=verify-full`.
  ///
  /// The URL may have all parameters of libpq; several hosts are given as `?host=a,b&port=5432,5433`. See
  /// ``PostgreSQLOption`` for the options beside it.
  public static let postgreSQL = StoreType("PostgreSQL", factory: PostgreSQLStoreFactory())
}

/// Opens PostgreSQL stores. The server must be of version 13 or later, and the database must store text in UTF-8.
public struct PostgreSQLStoreFactory: StoreFactory {
  public init() {}

  public var usesFiles: Bool { false }

  public func open(_ environment: StoreEnvironment) throws -> any PersistentStore {
    try PostgreSQLStore(environment, options: PostgreSQLOptions(environment))
  }

  public func metadata(_ environment: StoreEnvironment) throws -> StoreMetadata? {
    try Self.catalog(environment).state()?.metadata
  }

  /// Moves the store's tables into a new schema, whose name begins with the name of their schema, shortened if the new
  /// name would be too long.
  public func setAside(_ environment: StoreEnvironment) throws -> String {
    try Self.catalog(environment).setAside()
  }

  /// The tables of the environment's store, over a connection of their own.
  fileprivate static func catalog(_ environment: StoreEnvironment) throws -> PostgreSQLCatalog {
    let options = try PostgreSQLOptions(environment)
    let connection = try PostgreSQLConnection.connect(options, logger: environment.logger)
    return PostgreSQLCatalog(connection, schema: options.schema)
  }
}

extension PostgreSQLStoreFactory: MigrationPreviewing {
  /// Compares the tables in the schema with the environment's model.
  public func migrationPreview(_ environment: StoreEnvironment) throws -> MigrationPreview? {
    try Self.catalog(environment).preview(environment)
  }
}

extension PostgreSQLStoreFactory: StoreErasing {
  /// Drops the store's tables. The schema and its other contents stay.
  public func erase(_ environment: StoreEnvironment) throws {
    try Self.catalog(environment).erase()
  }
}
