public import CoherenceCore

/// The reads and writes of one transaction, which is saved as a whole; see
/// ``PersistenceManager/transaction(context:_:)``.
///
/// Only the fetches of the transaction see its changes before it is saved. Use a transaction in the block that receives
/// it, on the thread of the block. A save in the transaction that throws fails the transaction, even if the block
/// catches the error, because a part of that save may have been done.
public struct PersistenceTransaction {
  /// The context of the transaction, which is saved at the end. A writing method of the manager becomes a part of the
  /// transaction when it gets this context.
  public let context: ManagedObjectContext
  let state: TransactionState

  init(context: ManagedObjectContext, state: TransactionState = TransactionState()) {
    self.context = context
    self.state = state
  }
}

// MARK: - Fetching

extension PersistenceTransaction {
  /// Fetches records for use in the transaction.
  ///
  /// - Parameter entity: The class of the records, if the type of the result leaves it open.
  public func fetchRecords<T: DataRecord>(
    entity: T.Type = T.self, predicate: FetchPredicate? = nil, sortDescriptors: [SortKey] = []
  ) throws -> [T] {
    try records(T.self, where: predicate, sort: sortDescriptors)
  }

  /// Fetches the records in a range of the sorted records that satisfy a predicate.
  func records<T: DataRecord>(
    _ type: T.Type, where predicate: FetchPredicate?, sort: [SortKey], range: RecordRange = RecordRange()
  ) throws -> [T] {
    var request = try UidTable(T.self, in: context).request(T.self, where: predicate)
    request.sortKeys = sort
    request.fetchLimit = range.limit
    request.fetchOffset = range.offset
    return try context.fetch(request)
  }

  /// Fetches models; see ``PersistenceManager/fetchModels(entity:uids:includesDeleted:context:)``.
  public func fetchModels<T: RecordToModel>(
    entity: T.Type, uids: [T.UidType]? = nil, includesDeleted: Bool = false
  ) throws -> [T.ModelType] {
    let condition = includesDeleted ? nil : T.notMarkedAsDeleted
    let table = try UidTable(T.self, in: context)
    guard let uids else { return try models(of: context.fetch(table.request(T.self, where: condition))) }
    let values = try uids.map { try table.checked($0.attributeValue) }
    return try models(of: table.records(T.self, with: values, and: condition))
  }

  func fetchModels<T: RecordToModel>(
    entity: T.Type, predicate: FetchPredicate?, sortDescriptors: [SortKey], range: RecordRange, includesDeleted: Bool
  ) throws -> [T.ModelType] {
    let parts = [predicate, includesDeleted ? nil : T.notMarkedAsDeleted].compactMap { $0 }
    return try models(
      of: records(T.self, where: parts.isEmpty ? nil : .and(parts), sort: sortDescriptors, range: range))
  }

  /// Makes the models of records.
  ///
  /// - Throws: ``ErrorCode/modelDoesNotFit`` for a record that does not fit its class, whose accessors returned default
  ///   values instead of throwing; ``ErrorCode/cancelled``.
  private func models<T: RecordToModel>(of records: [T]) throws -> [T.ModelType] {
    let failuresBefore = context.accessorFailures.count
    var models: [T.ModelType] = []
    models.reserveCapacity(records.count)
    for record in records {
      models.append(try record.toModel())
      if models.count % 1024 == 0, Task.isCancelled {
        throw CoherenceError(.cancelled, "The task was cancelled while models were made.")
      }
    }
    guard context.accessorFailures.count > failuresBefore, let error = context.accessorFailures.latest else {
      return models
    }
    // A record with a reported failure would make the save of the context fail.
    for record in records { context.refresh(record, mergeChanges: true) }
    let cause = (error as? CoherenceError).map { ": \($0.message)" } ?? "."
    throw CoherenceError(
      .modelDoesNotFit, "A record of '\(T.entityName)' does not fit '\(T.self)'\(cause)", underlying: error)
  }

  /// Fetches models in a sort order; see
  /// ``PersistenceManager/fetchModels(entity:predicate:sortDescriptors:limit:offset:includesDeleted:context:)``.
  public func fetchModels<T: RecordToModel>(
    entity: T.Type, predicate: FetchPredicate?, sortDescriptors: [SortKey] = [], limit: Int? = nil, offset: Int = 0,
    includesDeleted: Bool = false
  ) throws -> [T.ModelType] {
    try fetchModels(
      entity: entity, predicate: predicate, sortDescriptors: sortDescriptors,
      range: RecordRange(limit: limit, offset: offset), includesDeleted: includesDeleted)
  }

  /// Fetches the model of a uid; see ``PersistenceManager/fetchModel(entity:uid:includesDeleted:context:)``.
  public func fetchModel<T: RecordToModel>(
    entity: T.Type, uid: T.UidType, includesDeleted: Bool = false
  ) throws -> T.ModelType? {
    try fetchModels(entity: entity, uids: [uid], includesDeleted: includesDeleted).first
  }

  /// Counts records; see ``PersistenceManager/count(entity:predicate:context:)``.
  public func count<T: DataRecord>(entity: T.Type, predicate: FetchPredicate? = nil) throws -> Int {
    try context.count(for: try UidTable(T.self, in: context).request(T.self, where: predicate))
  }

  /// Whether a record has the uid.
  public func exists<T: DataRecord>(entity: T.Type, uid: T.UidType) throws -> Bool {
    let table = try UidTable(T.self, in: context)
    let uid = try table.checked(uid.attributeValue)
    let path = PropertyPath(names: [table.key.name])
    return try context.count(for: table.request(T.self, where: .membership(.path(path), in: [uid])).limit(1)) > 0
  }
}

extension DataRecord {
  /// The condition for records that are not marked as deleted; `nil` for a class without marks.
  static var notMarkedAsDeleted: FetchPredicate? {
    guard let type = self as? any SyncRecord.Type else { return nil }
    return .comparison(.path(PropertyPath(names: [type.wasDeletedKey])), .notEqual, .value(.bool(true)))
  }
}

// MARK: - Saving

extension PersistenceTransaction {
  /// Saves models as records; see ``PersistenceManager/save(entity:models:shouldOverwrite:duplicates:in:context:)``.
  @discardableResult
  public func save<Record: RecordFromModel>(
    entity: Record.Type, models: [Record.ModelType], shouldOverwrite: Bool, duplicates: DuplicateUids = .lastWins,
    in store: (any PersistentStore)? = nil
  ) throws -> SaveResult {
    var save = try RecordSave(
      models, in: context, duplicates: duplicates, marks: NoMarks<Record>(), insertingInto: store)
    return try state.failing { try save.run(shouldOverwrite: shouldOverwrite) }
  }

  /// Saves models and marks their records for synchronisation. The transaction throws ``ErrorCode/versionConflict``
  /// when another writer changes one of the records before its end, regardless of the merge policy.
  @discardableResult
  public func save<Record: RecordFromModel & SyncRecord>(
    entity: Record.Type, models: [Record.ModelType], shouldOverwrite: Bool, from origin: SyncOrigin,
    duplicates: DuplicateUids = .lastWins, in store: (any PersistentStore)? = nil
  ) throws -> SaveResult {
    state.failOnConflicts()
    var save = try RecordSave(
      models, in: context, duplicates: duplicates, marks: SyncMarks<Record>(origin: origin), insertingInto: store)
    return try state.failing { try save.run(shouldOverwrite: shouldOverwrite) }
  }
}

// MARK: - Deleting

extension PersistenceTransaction {
  /// Deletes the records of some uids by the delete rules of the entities.
  ///
  /// - Returns: The number of deleted records, without the records that delete rules added.
  @discardableResult
  public func delete<Record: DataRecord>(entity: Record.Type, uids: [Record.UidType]) throws -> Int {
    let table = try UidTable(Record.self, in: context)
    let uids = try uids.map { try table.checked($0.attributeValue) }
    return delete(try table.records(Record.self, with: uids))
  }

  /// Deletes the records of some models by the delete rules of the entities.
  ///
  /// - Returns: The number of deleted records, without the records that delete rules added.
  @discardableResult
  public func deleteModels<Record: ModelRepresentable>(
    entity: Record.Type, models: [Record.ModelType]
  ) throws -> Int {
    try delete(entity: entity, uids: models.map(\.uid))
  }

  /// Deletes the records that satisfy a predicate by the delete rules of the entities; with `nil`, all records.
  ///
  /// - Returns: The number of deleted records, without the records that delete rules added.
  @discardableResult
  public func delete<Record: DataRecord>(entity: Record.Type, predicate: FetchPredicate?) throws -> Int {
    try delete(entityName: Record.entityName, predicate: predicate)
  }

  func delete(entityName: String, predicate: FetchPredicate?, limit: Int? = nil) throws -> Int {
    delete(try objects(of: entityName, where: predicate, limit: limit))
  }

  /// Deletes all records of some entities.
  func deleteAll(of entityNames: [String]) throws {
    // With deleted objects in the context, later fetches would have to consider them. So all fetches come first.
    for object in try entityNames.flatMap({ try objects(of: $0, where: nil) }) where !object.isDeleted {
      context.delete(object)
    }
  }

  private func objects(of entityName: String, where predicate: FetchPredicate?, limit: Int? = nil) throws
    -> [ManagedObject]
  {
    var request = FetchRequest<ManagedObject>(entityName: entityName)
    request.predicate = predicate
    request.fetchLimit = limit
    return try context.fetch(request)
  }

  func delete(_ objects: [ManagedObject]) -> Int {
    for object in objects { context.delete(object) }
    return objects.count
  }
}
