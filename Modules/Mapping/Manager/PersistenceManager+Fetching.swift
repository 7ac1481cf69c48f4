public import CoherenceCore

extension PersistenceManager {
  /// Fetches records, to be used in their context alone.
  ///
  /// - Parameters:
  ///   - entity: The records' class, where the type of the result leaves it open.
  ///   - context: The context of the records; without one, the context of ``contextForThread()``, so that they are used
  ///     on the calling thread.
  /// - Throws: ``ErrorCode/contextWithoutStore`` before `load`; ``ErrorCode/wrongContext`` for a context of another
  ///   manager; ``ErrorCode/unknownEntity``; ``ErrorCode/invalidPredicate`` and ``ErrorCode/unknownProperty`` for what
  ///   cannot be asked; errors of the store.
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
  ///   - uids: Which; `nil` for all, and none for an empty list. Uids that no record has are passed over. The models do
  ///     not come in the order of the uids.
  ///   - includesDeleted: Whether records marked as deleted, whose delete the server has yet to receive, are models
  ///     too.
  /// - Throws: As ``fetchRecords(entity:predicate:sortDescriptors:context:)``, ``ErrorCode/invalidUid``, and
  ///   what `toModel` throws.
  public final func fetchModels<T: RecordToModel>(
    entity: T.Type, uids: [T.UidType]? = nil, includesDeleted: Bool = false, context: ManagedObjectContext? = nil
  ) throws -> [T.ModelType] {
    try reading(in: context) { try $0.fetchModels(entity: entity, uids: uids, includesDeleted: includesDeleted) }
  }

  /// Fetches the models of the records that satisfy a predicate, in an order.
  ///
  /// - Parameters:
  ///   - limit: The most models; `nil` for all.
  ///   - offset: How many to leave out at the beginning.
  /// - Throws: As the form by uids, and ``ErrorCode/invalidFetchRequest`` for a negative limit or offset.
  public final func fetchModels<T: RecordToModel>(
    entity: T.Type, predicate: FetchPredicate?, sortDescriptors: [SortKey] = [], limit: Int? = nil, offset: Int = 0,
    includesDeleted: Bool = false, context: ManagedObjectContext? = nil
  ) throws -> [T.ModelType] {
    let range = FetchRange(limit: limit, offset: offset)
    return try reading(in: context) {
      try $0.fetchModels(
        entity: entity, predicate: predicate, sortDescriptors: sortDescriptors, range: range,
        includesDeleted: includesDeleted)
    }
  }

  /// Fetches the model of a uid; `nil` when no record has it. Of several records with the uid the oldest counts.
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

  /// Counts the records that satisfy a predicate, records marked as deleted included.
  ///
  /// - Throws: As ``fetchRecords(entity:predicate:sortDescriptors:context:)``.
  public final func count<T: DataRecord>(
    entity: T.Type, predicate: FetchPredicate? = nil, context: ManagedObjectContext? = nil
  ) throws -> Int {
    try reading(in: context) { try $0.count(entity: entity, predicate: predicate) }
  }

  /// Whether a record has the uid, marked as deleted or not.
  ///
  /// - Throws: As ``fetchRecords(entity:predicate:sortDescriptors:context:)``, and ``ErrorCode/invalidUid``.
  public final func exists<T: DataRecord>(
    entity: T.Type, uid: T.UidType, context: ManagedObjectContext? = nil
  ) throws -> Bool {
    try reading(in: context) { try $0.exists(entity: entity, uid: uid) }
  }
}
