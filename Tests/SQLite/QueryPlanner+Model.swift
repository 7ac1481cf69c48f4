import CoherenceCore
@testable import CoherenceSQL
@testable import CoherenceSQLite

extension QueryPlanner {
  /// Makes a planner of SQLite's statements for a model, without a file.
  init(for model: ManagedObjectModel) {
    self.init(
      schema: SQLSchema(environment: StoreEnvironment(type: .sqlite, url: nil, model: model), dialect: SQLiteDialect()),
      dialect: SQLiteDialect(), spaces: IDSpaces(store: StoreIdentifier("s"), model: model))
  }
}
