public import CoherenceCore

extension PersistentContainer {
  /// Shows the migration that ``attachPersistentStore(for:)`` would make, without a change of the store; see
  /// ``PersistentStoreCoordinator/migrationPreview(for:at:)``.
  ///
  /// - Parameter configuration: The store, which is looked for where the container would attach it.
  /// - Returns: The migration, which is empty for a store that fits; `nil` for a location without a store.
  /// - Throws: The error with which the attachment would be refused; ``ErrorCode/unknownStoreType``;
  ///   ``ErrorCode/unsupported`` for a type without previews, such as a store in memory; errors of the store.
  public func migrationPreview(
    for configuration: StoreConfiguration = StoreConfiguration()
  ) throws -> MigrationPreview? {
    let factory = try persistentStoreCoordinator.factory(for: configuration.type)
    let location = configuration.resolveURL(
      defaultStorePrefix: name, storeLocation: storeLocation, usesFiles: factory.usesFiles)
    return try persistentStoreCoordinator.migrationPreview(for: configuration, at: location)
  }
}
