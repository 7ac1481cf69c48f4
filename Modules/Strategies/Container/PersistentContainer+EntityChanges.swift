public import CoherenceCore

extension PersistentContainer {
  /// The changes of all entities from now on, whatever context of the container saves them, under every strategy, and
  /// whether or not the view has the objects; see ``PersistentStoreCoordinator/entityChanges()``.
  public func entityChanges() -> AsyncStream<EntityChanges> { persistentStoreCoordinator.entityChanges() }

  /// The changes of one entity and of those that inherit from it, from now on; see
  /// ``PersistentStoreCoordinator/entityChanges(of:)``.
  ///
  /// ```swift
  /// for await changes in try container.entityChanges(of: "Person") {
  ///   show(try container.viewContext.fetch(request))
  /// }
  /// ```
  ///
  /// - Throws: ``ErrorCode/unknownEntity``.
  public func entityChanges(of entityName: String) throws -> AsyncStream<EntityChanges> {
    try persistentStoreCoordinator.entityChanges(of: entityName)
  }
}
