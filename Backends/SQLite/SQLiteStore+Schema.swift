import CoherenceCore
import CoherenceSQL
import Foundation

/// What a store has written down of itself.
struct StoredState {
  var metadata: StoreMetadata
  var schema: StoredSchema

  private static let metadataKey = "metadata"
  private static let schemaKey = "schema"
  private static let formatKey = "format"
  /// The number of the layout of the tables; another number is of another version of the framework.
  private static let format = "1"

  init(metadata: StoreMetadata, schema: StoredSchema) {
    self.metadata = metadata
    self.schema = schema
  }

  /// Reads the state; `nil` in an empty file.
  ///
  /// - Throws: ``ErrorCode/notADatabase`` when the file is the database of something else.
  init?(_ session: SQLiteSession, path: String) throws {
    let tables = try session.integers(
      "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = \(text: SQLSchema.metadataTable)")
    guard tables == [1] else {
      if try session.integers("SELECT COUNT(*) FROM sqlite_master") == [0] { return nil }
      throw CoherenceError(
        .notADatabase, "'\(path)' is a SQLite database, but not a store; choose another file, or move this one away.")
    }
    guard try Self.value(Self.formatKey, session) == Self.format else {
      throw CoherenceError(
        .incompatibleModel, "'\(path)' was made by a later version of the framework; open it with that version.")
    }
    do {
      metadata = try Self.decoded(Self.metadataKey, session)
      schema = try Self.decoded(Self.schemaKey, session)
    } catch let error as DecodingError {
      throw CoherenceError(
        .storeCorrupt, "What '\(path)' says of itself cannot be read; restore it from a backup.", underlying: error)
    }
  }

  func write(_ session: SQLiteSession) throws {
    try Self.set(Self.formatKey, Self.format, session)
    try Self.set(Self.metadataKey, Self.encoded(metadata), session)
    try Self.set(Self.schemaKey, Self.encoded(schema), session)
  }

  private static func value(_ key: String, _ session: SQLiteSession) throws -> String? {
    try session.string(
      "SELECT \(name: "value") FROM \(name: SQLSchema.metadataTable) WHERE \(name: "key") = \(text: key)")
  }

  private static func set(_ key: String, _ value: String, _ session: SQLiteSession) throws {
    try session.run(
      """
      INSERT INTO \(name: SQLSchema.metadataTable) (\(name: "key"), \(name: "value")) VALUES (\(text: key), \(text: value)) \
      ON CONFLICT (\(name: "key")) DO UPDATE SET \(name: "value") = \(name: "excluded").\(name: "value")
      """)
  }

  private static func decoded<T: Decodable>(_ key: String, _ session: SQLiteSession) throws -> T {
    try JSONDecoder().decode(T.self, from: Data((try value(key, session) ?? "").utf8))
  }

  private static func encoded(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return String(decoding: try encoder.encode(value), as: UTF8.self)
  }
}

/// What opening a store has to do to its schema.
struct SQLiteSchemaChange {
  var schema: SQLSchema
  var statements: [SQLFragment]
  var state: StoredState

  /// Compares what a file has with what the environment asks for.
  ///
  /// - Parameter stored: What the file has; `nil` for an empty one.
  /// - Throws: ``ErrorCode/incompatibleModel``.
  init(from stored: StoredState?, to environment: StoreEnvironment) throws {
    let dialect = SQLiteDialect()
    schema = SQLSchema(environment: environment, dialect: dialect, stored: stored?.schema)
    let wanted = StoredSchema(schema)
    let hashes = Dictionary(uniqueKeysWithValues: environment.entities.map { ($0.name, $0.versionHash.rawValue) })
    guard let stored else {
      let metadata = StoreMetadata(
        identifier: StoreIdentifier(UUID().uuidString), type: environment.type.name, versionHashes: hashes)
      state = StoredState(metadata: metadata, schema: wanted)
      statements = SchemaMigration(creating: schema, dialect: dialect).statements
      return
    }
    state = stored
    statements = []
    let isSame = stored.metadata.versionHashes == hashes
    if isSame, stored.schema == wanted { return }
    let canMigrate = environment.allowsMigration && !environment.isReadOnly
    // Indexes and delete rules do not count as a difference: without the right to change them, the store is used as it is.
    guard canMigrate || !isSame else { return }
    let migration = try SchemaMigration(from: stored.schema, to: schema, dialect: dialect)
    guard canMigrate else { throw Self.refusal(stored.metadata.versionHashes, hashes, environment) }
    statements = migration.statements
    state.metadata.versionHashes = hashes
    state.schema = wanted
  }

  private static func refusal(
    _ stored: [String: String], _ wanted: [String: String], _ environment: StoreEnvironment
  ) -> CoherenceError {
    let names = Set(stored.keys).union(wanted.keys).filter { stored[$0] != wanted[$0] }.sorted()
    let reason =
      environment.isReadOnly
      ? "It was opened to read only; open it to write once."
      : "Set the option '\(StoreOption.migrateAutomatically)' to extend it."
    return CoherenceError(
      .incompatibleModel, "The store differs from the model in: \(names.joined(separator: ", ")). \(reason)")
  }

  /// Whether there is anything to write.
  var isEmpty: Bool { statements.isEmpty }

  func apply(_ session: SQLiteSession) throws {
    do {
      for statement in statements { try session.run(statement) }
    } catch let failure as SQLiteFailure where failure.code == SQLiteCode.unique {
      throw CoherenceError(
        .incompatibleModel,
        "The model makes properties unique that are not in the store's records (\(failure.message)); remove the "
          + "duplicates first.",
        underlying: failure)
    }
    try state.write(session)
  }
}
