public import CoherenceCore

// The asynchronous forms of the manager's methods. Each works in a new context and blocks no thread of the caller, so
// its arguments and results are sendable. The cancellation of the task stops a fetch between batches, and a save before
// its commit. Both throw `CancellationError`, and the transaction is rolled back. With `saveEvery`, earlier transactions
// stay committed.

extension PersistenceManager {
  /// Runs the synchronous form of a method in a new context, on the queue of this context.
  ///
  /// - Throws: `CancellationError` in place of ``ErrorCode/cancelled``; the other errors of the block.
  final func inWorker<T: Sendable>(
    _ body: @escaping @Sendable (ManagedObjectContext) throws -> T
  ) async throws -> T {
    let context = workerContext
    do {
      return try await context.perform { try body(context) }
    } catch let error as CoherenceError where error.code == .cancelled {
      // As `perform` does when the task is cancelled before the block begins.
      throw CancellationError()
    }
  }

  // MARK: Fetching

  /// Fetches the models of some uids, or of all records; see the synchronous form.
  public final func fetchModels<T: RecordToModel>(
    entity: T.Type, uids: [T.UidType]? = nil, includesDeleted: Bool = false
  ) async throws -> [T.ModelType] where T.ModelType: Sendable {
    try await inWorker {
      try self.fetchModels(entity: entity, uids: uids, includesDeleted: includesDeleted, context: $0)
    }
  }

  /// Fetches the models of the records that satisfy a predicate, in a sort order; see the synchronous form.
  public final func fetchModels<T: RecordToModel>(
    entity: T.Type, predicate: FetchPredicate?, sortDescriptors: [SortKey] = [], limit: Int? = nil, offset: Int = 0,
    includesDeleted: Bool = false
  ) async throws -> [T.ModelType] where T.ModelType: Sendable {
    try await inWorker {
      try self.fetchModels(
        entity: entity, predicate: predicate, sortDescriptors: sortDescriptors, limit: limit, offset: offset,
        includesDeleted: includesDeleted, context: $0)
    }
  }

  /// Fetches the model of a uid; see the synchronous form.
  public final func fetchModel<T: RecordToModel>(
    entity: T.Type, uid: T.UidType, includesDeleted: Bool = false
  ) async throws -> T.ModelType? where T.ModelType: Sendable {
    try await inWorker {
      try self.fetchModel(entity: entity, uid: uid, includesDeleted: includesDeleted, context: $0)
    }
  }

  /// Counts the records that satisfy a predicate; see the synchronous form.
  public final func count<T: DataRecord>(entity: T.Type, predicate: FetchPredicate? = nil) async throws -> Int {
    try await inWorker { try self.count(entity: entity, predicate: predicate, context: $0) }
  }

  /// Whether a record has a uid; see the synchronous form.
  public final func exists<T: DataRecord>(entity: T.Type, uid: T.UidType) async throws -> Bool {
    try await inWorker { try self.exists(entity: entity, uid: uid, context: $0) }
  }

  // MARK: Saving

  /// Saves models as records, in one transaction; see the synchronous form.
  @discardableResult
  public final func save<Record: RecordFromModel>(
    entity: Record.Type, models: [Record.ModelType], shouldOverwrite: Bool, duplicates: DuplicateUids = .lastWins,
    in store: (any PersistentStore)? = nil
  ) async throws -> SaveResult where Record.ModelType: Sendable {
    try await inWorker {
      try self.save(
        entity: entity, models: models, shouldOverwrite: shouldOverwrite, duplicates: duplicates, in: store,
        context: $0)
    }
  }

  /// Saves models and marks their records for synchronisation, in one transaction; see the synchronous form.
  @discardableResult
  public final func save<Record: RecordFromModel & SyncRecord>(
    entity: Record.Type, models: [Record.ModelType], shouldOverwrite: Bool, from origin: SyncOrigin,
    duplicates: DuplicateUids = .lastWins, in store: (any PersistentStore)? = nil
  ) async throws -> SaveResult where Record.ModelType: Sendable {
    try await inWorker {
      try self.save(
        entity: entity, models: models, shouldOverwrite: shouldOverwrite, from: origin, duplicates: duplicates,
        in: store, context: $0)
    }
  }

  /// Runs a block as one transaction: all of its changes are saved, or none; see the synchronous form.
  @discardableResult
  public final func transaction<T: Sendable>(
    _ body: @escaping @Sendable (PersistenceTransaction) throws -> T
  ) async throws -> T {
    try await inWorker { try self.transaction(context: $0, body) }
  }

  // MARK: Deleting

  /// Deletes the records of a uid, in one transaction; see the synchronous form.
  @discardableResult
  public final func delete<Record: DataRecord>(entity: Record.Type, uid: Record.UidType) async throws -> Int {
    try await inWorker { try self.delete(entity: entity, uid: uid, context: $0) }
  }

  /// Deletes the records of some uids, in one transaction; see the synchronous form.
  @discardableResult
  public final func delete<Record: DataRecord>(entity: Record.Type, uids: [Record.UidType]) async throws -> Int {
    try await inWorker { try self.delete(entity: entity, uids: uids, context: $0) }
  }

  /// Deletes the records that satisfy a predicate, in one transaction; see the synchronous form. With `saveEvery`, a
  /// cancellation keeps the transactions that are committed.
  @discardableResult
  public final func delete<Record: DataRecord>(
    entity: Record.Type, predicate: FetchPredicate?, saveEvery: Int? = nil
  ) async throws -> Int {
    try await inWorker {
      try self.delete(entity: entity, predicate: predicate, saveEvery: saveEvery, context: $0)
    }
  }

  /// Deletes the records of a model; see the synchronous form.
  @discardableResult
  public final func deleteModel<Record: ModelRepresentable>(
    entity: Record.Type, model: Record.ModelType
  ) async throws -> Int {
    try await delete(entity: entity, uid: model.uid)
  }

  /// Deletes the records of some models; see the synchronous form.
  @discardableResult
  public final func deleteModels<Record: ModelRepresentable>(
    entity: Record.Type, models: [Record.ModelType]
  ) async throws -> Int {
    try await delete(entity: entity, uids: models.map(\.uid))
  }

  /// Deletes all records of an entity in the stores; see the synchronous form.
  public final func batchDeleteAll<Record: DataRecord>(entity: Record.Type) async throws {
    try await inWorker { try self.batchDeleteAll(entity: entity, context: $0) }
  }

  /// Deletes all records of an entity by the model's delete rules, in one transaction; see the synchronous form. With
  /// `saveEvery`, a cancellation keeps the transactions that are committed.
  @discardableResult
  public final func manualDeleteAll<Record: DataRecord>(
    entity: Record.Type, saveEvery: Int? = nil
  ) async throws -> Int {
    try await inWorker { try self.manualDeleteAll(entity: entity, saveEvery: saveEvery, context: $0) }
  }

  /// Deletes all records of the entities of ``entityNamesForClear()``; see the synchronous form.
  public final func clear() async throws { try await inWorker { _ in try self.clear() } }

  // MARK: Marking

  /// Marks the records of some uids as uploaded; see the synchronous form.
  public final func markRecordsAsUploaded<T: SyncRecord>(entity: T.Type, uids: [T.UidType]) async throws {
    try await inWorker { try self.markRecordsAsUploaded(entity: entity, uids: uids, context: $0) }
  }

  /// Marks records as uploaded, except for records changed since their upload; see the synchronous form.
  @discardableResult
  public final func markRecordsAsUploaded<T: SyncRecord>(
    entity: T.Type, receipts: [UploadReceipt]
  ) async throws -> Set<ManagedObjectID> {
    try await inWorker { try self.markRecordsAsUploaded(entity: entity, receipts: receipts, context: $0) }
  }

  /// Marks the records of some uids as deleted; see the synchronous form.
  public final func markRecordsAsDeleted<T: SyncRecord>(entity: T.Type, uids: [T.UidType]) async throws {
    try await inWorker { try self.markRecordsAsDeleted(entity: entity, uids: uids, context: $0) }
  }

  /// Marks all records as deleted; see the synchronous form.
  public final func markAllRecordsAsDeleted<T: SyncRecord>(entity: T.Type) async throws {
    try await inWorker { try self.markAllRecordsAsDeleted(entity: entity, context: $0) }
  }

  /// Deletes the records whose deletion the server has received; see the synchronous form.
  @discardableResult
  public final func purgeDeletedRecords<T: SyncRecord>(entity: T.Type) async throws -> Int {
    try await inWorker { try self.purgeDeletedRecords(entity: entity, context: $0) }
  }
}
