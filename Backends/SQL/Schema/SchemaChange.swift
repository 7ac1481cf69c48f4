import CoherenceCore
import Foundation

/// What opening a store has to do to its schema.
package struct SchemaChange {
  package let schema: SQLSchema
  /// The statements to run.
  package private(set) var statements: [SQLFragment] = []
  /// What the store says of itself then.
  package private(set) var state: StoreState
  /// Whether there is anything to write.
  package private(set) var isNeeded = true

  /// Compares what a store has with what an environment asks for.
  ///
  /// - Parameter stored: What the store has; `nil` for a place without one.
  /// - Throws: ``ErrorCode/incompatibleModel``.
  package init(from stored: StoreState?, to environment: StoreEnvironment, dialect: any SQLDialect) throws {
    schema = SQLSchema(environment: environment, dialect: dialect, stored: stored?.schema)
    let wanted = StoredSchema(schema)
    guard let stored else {
      let identifier = StoreIdentifier(UUID().uuidString)
      state = StoreState(metadata: environment.freshMetadata(identifier: identifier), schema: wanted)
      statements = SchemaMigration(creating: schema, dialect: dialect).statements
      return
    }
    state = stored
    let hashes = environment.freshMetadata(identifier: stored.metadata.identifier).versionHashes
    let isSame = stored.metadata.versionHashes == hashes
    let canMigrate = environment.allowsMigration && !environment.isReadOnly
    // Indexes and delete rules are no difference of models: without the right to change them they stay as they are.
    if isSame, stored.schema == wanted || !canMigrate {
      isNeeded = false
      return
    }
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
    let advice =
      environment.isReadOnly
      ? "It was opened to read only; open it to write once."
      : "Set the option '\(StoreOption.migrateAutomatically)' to extend it."
    return CoherenceError(
      .incompatibleModel, "The store differs from the model in: \(names.joined(separator: ", ")). \(advice)")
  }
}
