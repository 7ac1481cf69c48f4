public import Foundation

extension PersistentStoreCoordinator {
  /// Shows the migration that the attachment of a store would make, without a change of the store. For a look before an
  /// update is delivered, and for a question to the user.
  ///
  /// The preview runs no conversion, so that only the attachment finds values that a ``ValueConversion`` refuses, and
  /// duplicates among values that the migration writes or drops.
  /// ``StoreConfiguration/overwriteIncompatibleStore`` is ignored.
  ///
  /// May be called on any thread, which it blocks. Cost: a connection of its own, and a scan of the tables whose values
  /// the migration would drop or make unique. The coordinator may have the store attached.
  ///
  /// - Parameters:
  ///   - configuration: The store, with the options of the attachment.
  ///   - url: The resolved file or location, as for ``addPersistentStore(_:at:)``.
  /// - Returns: The migration, which is empty for a store that fits; `nil` for a location without a store.
  /// - Throws: The error with which the attachment would be refused, such as ``ErrorCode/incompatibleModel`` with the
  ///   ``CoherenceError/dataLosses``, and with the ``CoherenceError/duplicateKeys`` of a new uniqueness constraint;
  ///   ``ErrorCode/unsupported`` for a type whose factory is no ``MigrationPreviewing``, such as a store in memory;
  ///   errors of the store.
  public final func migrationPreview(
    for configuration: StoreConfiguration, at url: URL?
  ) throws -> MigrationPreview? {
    let factory = try factory(for: configuration.type)
    guard let factory = factory as? any MigrationPreviewing else {
      throw CoherenceError(
        .unsupported,
        "A store of the type '\(configuration.type.name)' shows no migration before it is opened; open a copy of it.")
    }
    return try factory.migrationPreview(
      environment(
        type: configuration.type, configurationName: configuration.name, at: url, options: configuration.options))
  }
}
