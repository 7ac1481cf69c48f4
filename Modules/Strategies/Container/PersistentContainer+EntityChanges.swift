public import CoherenceCore

extension PersistentContainer {
  /// A new stream of the saved changes of all entities from now on, by any context of the container; see
  /// ``PersistentStoreCoordinator/entityChanges()``.
  ///
  /// The stream does not depend on the strategy, nor on the objects that the view has loaded.
  public func entityChanges() -> AsyncStream<EntityChanges> { persistentStoreCoordinator.entityChanges() }

  /// A new stream of the saved changes of one entity and its subentities from now on; see
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
