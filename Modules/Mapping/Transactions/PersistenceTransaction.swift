public import CoherenceCore

/// Work with records, saved as a whole by its initiator: see ``PersistenceManager/transaction(context:_:)``.
///
/// Changes made in a transaction are seen by its later fetches, and by no others before it is saved. It is used in the
/// block that receives it, and nowhere else. When a save in it fails, so does the transaction, even if the block
/// catches the error: a part of that save may be done already.
public struct PersistenceTransaction {
  /// The context that the work is done in, for what this type does not do: the methods of the manager that write take
  /// part in the transaction when they are given it. It is saved at the end.
  public let context: ManagedObjectContext
  let fate: TransactionFate

  init(context: ManagedObjectContext, fate: TransactionFate = TransactionFate()) {
    self.context = context
    self.fate = fate
  }
}

// MARK: - Fetching

extension PersistenceTransaction {
  /// Fetches records, to be used in the transaction.
  ///
  /// - Parameter entity: The records' class, where the type of the result leaves it open.
  public func fetchRecords<T: DataRecord>(
    entity: T.Type = T.self, predicate: FetchPredicate? = nil, sortDescriptors: [SortKey] = []
  ) throws -> [T] {
    try records(T.self, where: predicate, sort: sortDescriptors)
  }

  func records<T: DataRecord>(
    _ type: T.Type, where predicate: FetchPredicate?, sort: [SortKey], range: FetchRange = FetchRange()
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
    let condition = includesDeleted ? nil : T.isShown
    let table = try UidTable(T.self, in: context)
    guard let uids else { return try models(of: context.fetch(table.request(T.self, where: condition))) }
    let values = try uids.map { try table.checked($0.attributeValue) }
    return try models(of: table.records(T.self, with: values, and: condition))
  }

  func fetchModels<T: RecordToModel>(
    entity: T.Type, predicate: FetchPredicate?, sortDescriptors: [SortKey], range: FetchRange, includesDeleted: Bool
  ) throws -> [T.ModelType] {
    let parts = [predicate, includesDeleted ? nil : T.isShown].compactMap { $0 }
    return try models(
      of: records(T.self, where: parts.isEmpty ? nil : .and(parts), sort: sortDescriptors, range: range))
  }

  /// - Throws: ``ErrorCode/modelDoesNotFit`` when a record does not fit its class, for which non-throwing accessors
  ///   return values of their own; ``ErrorCode/cancelled``.
  private func models<T: RecordToModel>(of records: [T]) throws -> [T.ModelType] {
    let known = context.accessorFailures.count
    var models: [T.ModelType] = []
    models.reserveCapacity(records.count)
    for record in records {
      models.append(try record.toModel())
      if models.count % 1024 == 0, Task.isCancelled {
        throw CoherenceError(.cancelled, "The task was cancelled while models were made.")
      }
    }
    guard context.accessorFailures.count > known, let error = context.accessorFailures.latest else { return models }
    // An unreadable record must not hinder the save of others.
    for record in records { context.refresh(record, mergeChanges: true) }
    let cause = (error as? CoherenceError).map { ": \($0.message)" } ?? "."
    throw CoherenceError(
      .modelDoesNotFit, "A record of '\(T.entityName)' does not fit '\(T.self)'\(cause)", underlying: error)
  }

  /// Fetches models in an order; see
  /// ``PersistenceManager/fetchModels(entity:predicate:sortDescriptors:limit:offset:includesDeleted:context:)``.
  public func fetchModels<T: RecordToModel>(
    entity: T.Type, predicate: FetchPredicate?, sortDescriptors: [SortKey] = [], limit: Int? = nil, offset: Int = 0,
    includesDeleted: Bool = false
  ) throws -> [T.ModelType] {
    try fetchModels(
      entity: entity, predicate: predicate, sortDescriptors: sortDescriptors,
      range: FetchRange(limit: limit, offset: offset), includesDeleted: includesDeleted)
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
  /// The condition for records not marked as deleted; `nil` for a class without such marks.
  static var isShown: FetchPredicate? {
    guard let type = self as? any SyncRecord.Type else { return nil }
    return .comparison(.path(PropertyPath(names: [type.wasDeletedKey])), .notEqual, .value(.bool(true)))
  }
}

// MARK: - Saving

extension PersistenceTransaction {
  /// Saves models as records; see ``PersistenceManager/save(entity:models:shouldOverwrite:duplicates:context:)``.
  @discardableResult
  public func save<Record: RecordFromModel>(
    entity: Record.Type, models: [Record.ModelType], shouldOverwrite: Bool, duplicates: DuplicateUids = .lastWins
  ) throws -> SaveResult {
    var save = try RecordSave(models, in: context, duplicates: duplicates, marks: NoMarks<Record>())
    return try fate.deciding { try save.run(shouldOverwrite: shouldOverwrite) }
  }

  /// Saves models and marks their records for synchronisation. The transaction fails with ``ErrorCode/versionConflict``
  /// when others change a record before its end, with every merge policy.
  @discardableResult
  public func save<Record: RecordFromModel & SyncRecord>(
    entity: Record.Type, models: [Record.ModelType], shouldOverwrite: Bool, from origin: SyncOrigin,
    duplicates: DuplicateUids = .lastWins
  ) throws -> SaveResult {
    fate.demandStrictness()
    var save = try RecordSave(models, in: context, duplicates: duplicates, marks: SyncMarks<Record>(origin: origin))
    return try fate.deciding { try save.run(shouldOverwrite: shouldOverwrite) }
  }
}

// MARK: - Deleting

extension PersistenceTransaction {
  /// Deletes the records of some uids by the model's delete rules.
  @discardableResult
  public func delete<Record: DataRecord>(entity: Record.Type, uids: [Record.UidType]) throws -> Int {
    let table = try UidTable(Record.self, in: context)
    let uids = try uids.map { try table.checked($0.attributeValue) }
    return delete(try table.records(Record.self, with: uids))
  }

  /// Deletes the records of some models by the model's delete rules.
  @discardableResult
  public func deleteModels<Record: ModelRepresentable>(
    entity: Record.Type, models: [Record.ModelType]
  ) throws -> Int {
    try delete(entity: entity, uids: models.map(\.uid))
  }

  /// Deletes the records that satisfy a predicate by the model's delete rules; all for `nil`.
  @discardableResult
  public func delete<Record: DataRecord>(entity: Record.Type, predicate: FetchPredicate?) throws -> Int {
    try delete(entityName: Record.entityName, predicate: predicate)
  }

  func delete(entityName: String, predicate: FetchPredicate?, limit: Int? = nil) throws -> Int {
    delete(try objects(of: entityName, where: predicate, limit: limit))
  }

  /// Deletes all records of some entities.
  func deleteAll(of entityNames: [String]) throws {
    // Fetched before any is deleted, so that each fetch is the store's own.
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
