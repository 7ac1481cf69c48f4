extension PersistentStoreCoordinator {
  /// The changes of all entities from now on, as contexts of this coordinator save them into its stores.
  ///
  /// Every save counts that reaches a store: of view and background contexts, through parents too, and batch requests.
  /// Whether a context has objects of the records does not matter. Saves into a parent context alone do not count, and
  /// neither do saves of other coordinators and of other processes.
  ///
  /// The stream delivers the changes of one entity at a time to the task that reads it, after the save was committed
  /// and posted to the contexts that follow: a fetch of the reader in a following view finds the reported records.
  /// Several saves of an entity are merged into one value while the reader is slower than the writers; entities come in
  /// the order of their first change. Concurrent saves of two contexts may be reported in either order. A stream keeps
  /// at most 10,000 identifiers; an entity with more is reported with ``EntityChanges/isEverything``.
  ///
  /// A stream is for one reader; make another one for a second reader. The stream ends when its task is cancelled, or
  /// when the coordinator is gone. A save costs as much as its changes for each stream in use, and nothing without any.
  ///
  /// May be called from anywhere.
  public final func entityChanges() -> AsyncStream<EntityChanges> { entityChangeFeed.makeStream(of: nil) }

  /// The changes of one entity and of those that inherit from it, from now on; see ``entityChanges()``.
  ///
  /// ```swift
  /// for await changes in try coordinator.entityChanges(of: "Person") {
  ///   show(try viewContext.fetch(request))
  /// }
  /// ```
  ///
  /// - Throws: ``ErrorCode/unknownEntity``.
  public final func entityChanges(of entityName: String) throws -> AsyncStream<EntityChanges> {
    entityChangeFeed.makeStream(of: try managedObjectModel.entity(named: entityName))
  }
}
