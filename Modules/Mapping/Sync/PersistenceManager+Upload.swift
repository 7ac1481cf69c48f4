public import CoherenceCore

extension PersistenceManager {
  /// Fetches the records to upload to the server: made, edited or deleted here.
  ///
  /// - Parameters:
  ///   - entity: The records' class, where the type of the result leaves it open.
  ///   - context: Where the records are to be; that of the calling thread without.
  /// - Returns: The records in the order of ``SyncRecord/sort``.
  /// - Throws: As ``fetchRecords(entity:predicate:sortDescriptors:context:)``.
  @available(*, noasync, message: "Records cannot leave their context; fetch inside of `perform`.")
  public final func fetchRecordsToUpload<T: SyncRecord>(
    entity: T.Type = T.self, context: ManagedObjectContext? = nil
  ) throws -> [T] {
    try fetchRecords([T.isUploaded(false)], context)
  }

  /// Fetches the records made or edited here, but not the deleted ones; see ``fetchRecordsToUpload(entity:context:)``.
  @available(*, noasync, message: "Records cannot leave their context; fetch inside of `perform`.")
  public final func fetchRecordsToUpdate<T: SyncRecord>(
    entity: T.Type = T.self, context: ManagedObjectContext? = nil
  ) throws -> [T] {
    try fetchRecords([T.isUploaded(false), T.wasDeleted(false)], context)
  }

  /// Fetches the records deleted here; see ``fetchRecordsToUpload(entity:context:)``.
  @available(*, noasync, message: "Records cannot leave their context; fetch inside of `perform`.")
  public final func fetchRecordsToDelete<T: SyncRecord>(
    entity: T.Type = T.self, context: ManagedObjectContext? = nil
  ) throws -> [T] {
    try fetchRecords([T.isUploaded(false), T.wasDeleted(true)], context)
  }

  /// Fetches the records made here and never known to the server; see ``fetchRecordsToUpload(entity:context:)``. The
  /// others of ``fetchRecordsToUpdate(entity:context:)`` are edits.
  ///
  /// - Throws: Also ``ErrorCode/modelDoesNotFit`` when ``SyncRecord/isKnownToServerKey`` is not declared.
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
