public import CoherenceCore

extension PersistenceManager {
  /// Fetches the records to upload: made, edited or deleted locally. The records with the mark of deletion are among
  /// them; ``fetchRecordsToUpdate(entity:context:)`` and ``fetchRecordsToDelete(entity:context:)`` separate the two.
  ///
  /// - Parameters:
  ///   - entity: The class of the records, if the type of the result leaves it open.
  ///   - context: The context of the records; by default the context of the calling thread.
  /// - Returns: The records in the order of ``SyncRecord/sort``.
  /// - Throws: As ``fetchRecords(entity:predicate:sortDescriptors:context:)``.
  @available(*, noasync, message: "Records cannot leave their context; fetch inside of `perform`.")
  public final func fetchRecordsToUpload<T: SyncRecord>(
    entity: T.Type = T.self, context: ManagedObjectContext? = nil
  ) throws -> [T] {
    try fetchRecords([T.isUploaded(false)], context)
  }

  /// Fetches the records to insert or update on the server; see ``fetchRecordsToUpload(entity:context:)``.
  @available(*, noasync, message: "Records cannot leave their context; fetch inside of `perform`.")
  public final func fetchRecordsToUpdate<T: SyncRecord>(
    entity: T.Type = T.self, context: ManagedObjectContext? = nil
  ) throws -> [T] {
    try fetchRecords([T.isUploaded(false), T.wasDeleted(false)], context)
  }

  /// Fetches the records with a deletion to upload; see ``fetchRecordsToUpload(entity:context:)``.
  @available(*, noasync, message: "Records cannot leave their context; fetch inside of `perform`.")
  public final func fetchRecordsToDelete<T: SyncRecord>(
    entity: T.Type = T.self, context: ManagedObjectContext? = nil
  ) throws -> [T] {
    try fetchRecords([T.isUploaded(false), T.wasDeleted(true)], context)
  }

  /// Fetches the records to insert on the server; see ``fetchRecordsToUpload(entity:context:)``. The other records of
  /// ``fetchRecordsToUpdate(entity:context:)`` are edits.
  ///
  /// - Throws: As ``fetchRecordsToUpload(entity:context:)``, and ``ErrorCode/modelDoesNotFit`` for a class without
  ///   ``SyncRecord/isKnownToServerKey``.
  @available(*, noasync, message: "Records cannot leave their context; fetch inside of `perform`.")
  public final func fetchRecordsToCreate<T: SyncRecord>(
    entity: T.Type = T.self, context: ManagedObjectContext? = nil
  ) throws -> [T] {
    try fetchRecords([T.isUploaded(false), T.wasDeleted(false), T.isKnownToServer(false)], context)
  }

  private func fetchRecords<T: SyncRecord>(
    _ conditions: [FetchPredicate], _ context: ManagedObjectContext?
  ) throws -> [T] {
    try reading(in: context ?? threadContext()) {
      try $0.fetchRecords(predicate: .and(conditions), sortDescriptors: T.sort?.descriptors ?? [])
    }
  }
}
