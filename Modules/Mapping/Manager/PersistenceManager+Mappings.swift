public import CoherenceCore

// Models with a `Mapping` in place of a class of records.

extension PersistenceManager {
  // MARK: Fetching

  /// Fetches the models of the records that satisfy a condition, in a sort order.
  ///
  /// No objects are made: the values that the store reads become models directly. A call on the main actor blocks it
  /// for the time of the fetch.
  ///
  /// - Parameters:
  ///   - mapping: The mapping between the models and the records.
  ///   - predicate: The condition; `nil` for all records. `mapping[\.age] >= 18` makes a condition.
  ///   - sort: The sort order; by default the order of the keys.
  ///   - limit: The largest number of models; `nil` for all.
  ///   - offset: The number of models to skip at the beginning.
  ///   - context: The context of the fetch, with its unsaved changes; by default the main context on the main actor,
  ///     and a new context elsewhere.
  /// - Throws: ``ErrorCode/contextWithoutStore`` before `load`; ``ErrorCode/wrongContext``;
  ///   ``ErrorCode/unknownEntity``; ``ErrorCode/modelDoesNotFit`` for a mapping that does not fit its entity, and for a
  ///   record that the model refuses to decode; ``ErrorCode/invalidPredicate``; ``ErrorCode/invalidFetchRequest``;
  ///   errors of the store.
  public final func fetchModels<Model>(
    _ mapping: Mapping<Model>, where predicate: FetchPredicate? = nil, sort: [SortKey] = [], limit: Int? = nil,
    offset: Int = 0, context: ManagedObjectContext? = nil
  ) throws -> [Model] {
    try reading(in: context) {
      try $0.fetchModels(mapping, where: predicate, sort: sort, limit: limit, offset: offset)
    }
  }

  /// Fetches the models of some uids. Uids without a record are skipped. The models do not come in the order of the
  /// uids.
  ///
  /// - Throws: As ``fetchModels(_:where:sort:limit:offset:context:)``, and ``ErrorCode/invalidUid``.
  public final func fetchModels<Model, Uid: AttributeConvertible>(
    _ mapping: Mapping<Model>, uids: [Uid], context: ManagedObjectContext? = nil
  ) throws -> [Model] {
    try reading(in: context) { try $0.fetchModels(mapping, uids: uids) }
  }

  /// Fetches the model of a uid; `nil` for a uid without a record.
  ///
  /// - Throws: As ``fetchModels(_:uids:context:)``.
  public final func fetchModel<Model, Uid: AttributeConvertible>(
    _ mapping: Mapping<Model>, uid: Uid, context: ManagedObjectContext? = nil
  ) throws -> Model? {
    try fetchModels(mapping, uids: [uid], context: context).first
  }

  /// Counts the records that satisfy a condition.
  ///
  /// - Throws: As ``fetchModels(_:where:sort:limit:offset:context:)``.
  public final func count<Model>(
    _ mapping: Mapping<Model>, where predicate: FetchPredicate? = nil, context: ManagedObjectContext? = nil
  ) throws -> Int {
    try reading(in: context) { try $0.count(mapping, where: predicate) }
  }

  // MARK: Saving

  /// Saves models as records, in one transaction.
  ///
  /// A model updates the record with its uid, where it differs, and is inserted as a new record if no record has the
  /// uid. A record that equals its model costs neither an object nor a write. For several records with one uid, records of
  /// read-only stores and lost races to other writers, see
  /// ``PersistenceManager/save(entity:models:shouldOverwrite:duplicates:in:context:)``.
  ///
  /// Fields of derived attributes are left out, because the stack computes their values. A derived attribute as the uid
  /// is refused.
  ///
  /// Stores round dates to the microsecond, so a model with the current `Date` differs from the fetched model.
  /// ``Mapping/storedForm(of:)`` returns the fetched form of a model.
  ///
  /// - Parameters:
  ///   - mapping: The mapping between the models and the records.
  ///   - models: The models.
  ///   - shouldOverwrite: Whether records without a model are deleted, by the model's delete rules. Then an empty list
  ///     of models deletes all records of the entity; otherwise it does nothing. A record with a model is not deleted
  ///     by a cascade from a deleted record, and leaves the relationship instead. If its relationship back is required,
  ///     its owner stays, and so does each record that a staying record requires.
  ///   - duplicates: The policy for several models with the same uid.
  ///   - store: The store of new records; `nil` for the store that the context chooses for each. Models are matched with
  ///     the records of all attached stores.
  ///   - context: The context of the save, whose other changes are saved too; by default a new context.
  /// - Returns: The number of inserted, updated, unchanged, deleted and skipped records.
  /// - Throws: ``ErrorCode/contextWithoutStore`` before `load`; ``ErrorCode/wrongContext``; ``ErrorCode/invalidUid``;
  ///   ``ErrorCode/duplicateUid``; ``ErrorCode/modelDoesNotFit``; ``ErrorCode/storeDetached`` for an unattached store
  ///   of new records; ``ErrorCode/noStore`` for a store of new records without the entity; errors of saving a context.
  ///   Nothing is saved then, unless the outcome of the error says otherwise.
  @discardableResult
  public final func save<Model>(
    _ mapping: Mapping<Model>, models: [Model], shouldOverwrite: Bool, duplicates: DuplicateUids = .lastWins,
    in store: (any PersistentStore)? = nil, context: ManagedObjectContext? = nil
  ) throws -> SaveResult {
    try planning(mapping.entityName, in: context) {
      try $0.save(mapping, models: models, shouldOverwrite: shouldOverwrite, duplicates: duplicates, in: store)
    }
  }

  // MARK: Deleting

  /// Deletes the records of some uids by the model's delete rules, in one transaction. Uids without a record are
  /// skipped, and an empty list deletes nothing.
  ///
  /// - Parameters:
  ///   - mapping: The mapping between the models and the records.
  ///   - uids: The uids.
  ///   - context: The context of the deletion, whose other changes are saved too; by default a new context.
  /// - Returns: The number of deleted records, without the records that delete rules added.
  /// - Throws: As ``fetchModels(_:uids:context:)``, and errors of saving a context. Nothing is deleted then.
  @discardableResult
  public final func delete<Model, Uid: AttributeConvertible>(
    _ mapping: Mapping<Model>, uids: [Uid], context: ManagedObjectContext? = nil
  ) throws -> Int {
    try writing(in: context) { try $0.delete(mapping, uids: uids) }
  }

  /// Deletes the records of some models; see ``delete(_:uids:context:)``.
  @discardableResult
  public final func deleteModels<Model>(
    _ mapping: Mapping<Model>, models: [Model], context: ManagedObjectContext? = nil
  ) throws -> Int {
    try writing(in: context) { try $0.deleteModels(mapping, models: models) }
  }

  /// Deletes the records that satisfy a condition; with `nil`, all records. See ``delete(_:uids:context:)``.
  @discardableResult
  public final func delete<Model>(
    _ mapping: Mapping<Model>, where predicate: FetchPredicate?, context: ManagedObjectContext? = nil
  ) throws -> Int {
    try writing(in: context) { try $0.delete(mapping, where: predicate) }
  }
}

// MARK: - Asynchronous forms

extension PersistenceManager {
  /// Fetches the models of the records that satisfy a condition; see the synchronous form.
  ///
  /// Works in a new context, and blocks no thread of the caller. A cancelled task stops the fetch between batches.
  ///
  /// - Throws: The errors of the synchronous form; `CancellationError` for a cancelled task.
  public final func fetchModels<Model: Sendable>(
    _ mapping: Mapping<Model>, where predicate: FetchPredicate? = nil, sort: [SortKey] = [], limit: Int? = nil,
    offset: Int = 0
  ) async throws -> [Model] {
    try await inWorker {
      try self.fetchModels(mapping, where: predicate, sort: sort, limit: limit, offset: offset, context: $0)
    }
  }

  /// Fetches the models of some uids; see the synchronous form.
  ///
  /// - Throws: The errors of the synchronous form; `CancellationError` for a cancelled task.
  public final func fetchModels<Model: Sendable, Uid: AttributeConvertible>(
    _ mapping: Mapping<Model>, uids: [Uid]
  ) async throws -> [Model] {
    try await inWorker { try self.fetchModels(mapping, uids: uids, context: $0) }
  }

  /// Fetches the model of a uid; see the synchronous form.
  ///
  /// - Throws: The errors of the synchronous form; `CancellationError` for a cancelled task.
  public final func fetchModel<Model: Sendable, Uid: AttributeConvertible>(
    _ mapping: Mapping<Model>, uid: Uid
  ) async throws -> Model? {
    try await inWorker { try self.fetchModel(mapping, uid: uid, context: $0) }
  }

  /// Counts the records that satisfy a condition; see the synchronous form.
  ///
  /// - Throws: The errors of the synchronous form; `CancellationError` for a cancelled task.
  public final func count<Model: Sendable>(
    _ mapping: Mapping<Model>, where predicate: FetchPredicate? = nil
  ) async throws -> Int {
    try await inWorker { try self.count(mapping, where: predicate, context: $0) }
  }

  /// Saves models as records, in one transaction; see the synchronous form.
  ///
  /// Works in a new context, and blocks no thread of the caller. A cancelled task stops the save before its commit.
  ///
  /// - Throws: The errors of the synchronous form; `CancellationError` for a cancelled task. Nothing is saved then.
  @discardableResult
  public final func save<Model: Sendable>(
    _ mapping: Mapping<Model>, models: [Model], shouldOverwrite: Bool, duplicates: DuplicateUids = .lastWins,
    in store: (any PersistentStore)? = nil
  ) async throws -> SaveResult {
    try await inWorker {
      try self.save(
        mapping, models: models, shouldOverwrite: shouldOverwrite, duplicates: duplicates, in: store, context: $0)
    }
  }

  /// Deletes the records of some uids; see the synchronous form.
  ///
  /// - Throws: The errors of the synchronous form; `CancellationError` for a cancelled task. Nothing is deleted then.
  @discardableResult
  public final func delete<Model: Sendable, Uid: AttributeConvertible>(
    _ mapping: Mapping<Model>, uids: [Uid]
  ) async throws -> Int {
    try await inWorker { try self.delete(mapping, uids: uids, context: $0) }
  }

  /// Deletes the records of some models; see the synchronous form.
  ///
  /// - Throws: The errors of the synchronous form; `CancellationError` for a cancelled task. Nothing is deleted then.
  @discardableResult
  public final func deleteModels<Model: Sendable>(
    _ mapping: Mapping<Model>, models: [Model]
  ) async throws -> Int {
    try await inWorker { try self.deleteModels(mapping, models: models, context: $0) }
  }

  /// Deletes the records that satisfy a condition; see the synchronous form.
  ///
  /// - Throws: The errors of the synchronous form; `CancellationError` for a cancelled task. Nothing is deleted then.
  @discardableResult
  public final func delete<Model: Sendable>(
    _ mapping: Mapping<Model>, where predicate: FetchPredicate?
  ) async throws -> Int {
    try await inWorker { try self.delete(mapping, where: predicate, context: $0) }
  }
}
