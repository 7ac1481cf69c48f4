public import CoherenceCore

extension PersistenceManager {
  /// Fetches records, which may be used in their context alone.
  ///
  /// - Parameters:
  ///   - entity: The class of the records, if the type of the result leaves it open.
  ///   - predicate: The condition; `nil` for all records.
  ///   - sortDescriptors: The order; by default that of the keys.
  ///   - context: The context of the records; by default that of ``contextForThread()``, for use on the calling thread.
  /// - Throws: ``ErrorCode/contextWithoutStore`` before `load`; ``ErrorCode/wrongContext`` for a context of another
  ///   manager; ``ErrorCode/unknownEntity``; ``ErrorCode/invalidPredicate`` and ``ErrorCode/unknownProperty`` for
  ///   an invalid condition or order; errors of the store.
  @available(*, noasync, message: "Records cannot leave their context; fetch models, or fetch inside of `perform`.")
  public final func fetchRecords<T: DataRecord>(
    entity: T.Type = T.self, predicate: FetchPredicate? = nil, sortDescriptors: [SortKey]? = nil,
    context: ManagedObjectContext? = nil
  ) throws -> [T] {
    try reading(in: context ?? threadContext()) {
      try $0.fetchRecords(predicate: predicate, sortDescriptors: sortDescriptors ?? [])
    }
  }

  /// Fetches the models of some uids, or of all records.
  ///
  /// - Parameters:
  ///   - uids: The uids; `nil` for all records. An empty list gives no models. Uids without a record are skipped.
  ///   - includesDeleted: Whether the result contains the models of records marked as deleted.
  /// - Returns: The models, not in the order of the uids.
  /// - Throws: As ``fetchRecords(entity:predicate:sortDescriptors:context:)``, ``ErrorCode/invalidUid``, and errors of
  ///   `toModel`.
  public final func fetchModels<T: RecordToModel>(
    entity: T.Type, uids: [T.UidType]? = nil, includesDeleted: Bool = false, context: ManagedObjectContext? = nil
  ) throws -> [T.ModelType] {
    try reading(in: context) { try $0.fetchModels(entity: entity, uids: uids, includesDeleted: includesDeleted) }
  }

  /// Fetches the models of the records that satisfy a predicate, in a sort order.
  ///
  /// - Parameters:
  ///   - limit: The largest number of models; `nil` for all.
  ///   - offset: The number of models to skip at the beginning.
  /// - Throws: As ``fetchModels(entity:uids:includesDeleted:context:)``, and ``ErrorCode/invalidFetchRequest`` for a
  ///   negative limit or offset.
  public final func fetchModels<T: RecordToModel>(
    entity: T.Type, predicate: FetchPredicate?, sortDescriptors: [SortKey] = [], limit: Int? = nil, offset: Int = 0,
    includesDeleted: Bool = false, context: ManagedObjectContext? = nil
  ) throws -> [T.ModelType] {
    let range = RecordRange(limit: limit, offset: offset)
    return try reading(in: context) {
      try $0.fetchModels(
        entity: entity, predicate: predicate, sortDescriptors: sortDescriptors, range: range,
        includesDeleted: includesDeleted)
    }
  }

  /// Fetches the model of a uid; `nil` for a uid without a record. Of several records with the uid, the oldest is
  /// returned.
  ///
  /// - Throws: As ``fetchModels(entity:uids:includesDeleted:context:)``.
  public final func fetchModel<T: RecordToModel>(
    entity: T.Type, uid: T.UidType, includesDeleted: Bool = false, context: ManagedObjectContext? = nil
  ) throws -> T.ModelType? {
    try fetchModels(entity: entity, uids: [uid], includesDeleted: includesDeleted, context: context).first
  }

  /// Another name of ``fetchModels(entity:uids:includesDeleted:context:)``.
  public final func fetchModel<T: RecordToModel>(
    entity: T.Type, uids: [T.UidType], context: ManagedObjectContext? = nil
  ) throws -> [T.ModelType] {
    try fetchModels(entity: entity, uids: uids, context: context)
  }

  /// Counts the records that satisfy a predicate, including records marked as deleted.
  ///
  /// - Throws: As ``fetchRecords(entity:predicate:sortDescriptors:context:)``.
  public final func count<T: DataRecord>(
    entity: T.Type, predicate: FetchPredicate? = nil, context: ManagedObjectContext? = nil
  ) throws -> Int {
    try reading(in: context) { try $0.count(entity: entity, predicate: predicate) }
  }

  /// Whether a record has the uid, including records marked as deleted.
  ///
  /// - Throws: As ``fetchRecords(entity:predicate:sortDescriptors:context:)``, and ``ErrorCode/invalidUid``.
  public final func exists<T: DataRecord>(
    entity: T.Type, uid: T.UidType, context: ManagedObjectContext? = nil
  ) throws -> Bool {
    try reading(in: context) { try $0.exists(entity: entity, uid: uid) }
  }
}
