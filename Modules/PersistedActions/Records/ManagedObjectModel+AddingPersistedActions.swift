public import CoherenceCore

extension ManagedObjectModel {
  /// Returns a model that also has the entities of persisted actions, in every configuration.
  ///
  /// ```swift
  /// let model = try ManagedObjectModel(Track.self, Album.self, name: "Music").addingPersistedActions()
  /// ```
  /// Each store then has tables for actions and for data, so that one transaction saves both. A store from an earlier
  /// model without the entities gets them when it is attached. Returns this model if it already has the entities.
  ///
  /// - Throws: ``ErrorCode/invalidModel`` when the model has entities of its own with the names
  ///   `CoherencePersistedAction` or `CoherenceActionWorker`.
  public func addingPersistedActions() throws -> ManagedObjectModel {
    try adding([PersistedActionRecord.entityDeclaration, ActionWorkerRecord.entityDeclaration])
  }

  /// Returns the entity of persisted actions.
  ///
  /// - Throws: ``ErrorCode/invalidModel`` for a model without the entity.
  func persistedActionEntity() throws -> EntityDescription {
    guard let entity = entitiesByName[PersistedActionRecord.entityName],
      entity.objectClass == PersistedActionRecord.self
    else {
      throw CoherenceError(
        .invalidModel,
        "The model '\(name ?? "unnamed")' has no persisted actions; make the container with "
          + "`model.addingPersistedActions()`.")
    }
    return entity
  }
}
