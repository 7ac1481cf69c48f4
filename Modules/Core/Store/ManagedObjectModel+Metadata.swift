extension ManagedObjectModel {
  /// Whether a store with the given metadata can be opened with a configuration of this model without a migration: both
  /// have the same entities with the same version hashes. Reads no store.
  ///
  /// - Parameter name: The name of the configuration; `nil` for all entities.
  public func isConfiguration(_ name: String?, compatibleWith metadata: StoreMetadata) -> Bool {
    let wanted = (entities(forConfigurationName: name) ?? []).map { ($0.name, $0.versionHash.rawValue) }
    return Dictionary(uniqueKeysWithValues: wanted) == metadata.versionHashes
  }
}
