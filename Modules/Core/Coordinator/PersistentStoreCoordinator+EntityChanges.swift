extension PersistentStoreCoordinator {
  /// A stream of the changes of all entities from now on, as contexts of this coordinator save them into its stores.
  ///
  /// The stream reports every save of this coordinator's contexts that reaches a store, also through parents, and every
  /// batch request and claim, whether or not a context has objects of the records. It does not report saves that only
  /// reach a parent context, saves of other coordinators or processes, and changes of a store whose outcome is
  /// ``SaveOutcome/unknown``.
  /// A new, moved or deleted member is an update of its owners too. A batch request reports the owners of the members that
  /// it inserts, and not those of members that it moves or deletes.
  ///
  /// The stream delivers the changes of one entity at a time, after the save was committed and posted to the following
  /// contexts, so that a fetch in a following view context finds the reported records. Several saves of an entity are
  /// merged into one value while the reader is slower than the writers; entities come in the order of their first
  /// change. Concurrent saves of two contexts may be reported in either order. A stream keeps at most 10,000
  /// identifiers of all entities together; the entity whose changes would exceed the number is reported with
  /// ``EntityChanges/isEverything``. A record that several saves change may count several times.
  ///
  /// A stream is for one reader; make another stream for a second reader. The stream ends when its task is cancelled,
  /// or when the coordinator is released. A save costs time in proportion to its changes for each stream in use, and
  /// the read of one word without streams.
  ///
  /// May be called on any thread.
  public final func entityChanges() -> AsyncStream<EntityChanges> { entityChangeFeed.makeStream(of: nil) }

  /// A stream of the changes of one entity and its subentities from now on; see ``entityChanges()``.
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
