public import CoherenceCore

// Models that are kept by a mapping, without a class of records.

extension PersistenceManager {
  // MARK: Fetching

  /// Fetches the models of the records that satisfy a condition, in an order.
  ///
  /// No objects are made: each model is made of what the store reads.
  ///
  /// - Parameters:
  ///   - predicate: The condition; `nil` for all records. `mapping[\.age] >= 18` writes one.
  ///   - sort: The order; by key without.
  ///   - limit: The most models; `nil` for all.
  ///   - offset: How many to leave out at the beginning.
  /// - Throws: ``ErrorCode/contextWithoutStore`` before `load`; ``ErrorCode/wrongContext``; ``ErrorCode/unknownEntity``;
  ///   ``ErrorCode/modelDoesNotFit`` when mapping and entity do not fit, or a record and the model's type;
  ///   ``ErrorCode/invalidPredicate``; ``ErrorCode/invalidFetchRequest``; errors of the store.
  public final func fetchModels<Model>(
    _ mapping: Mapping<Model>, where predicate: FetchPredicate? = nil, sort: [SortKey] = [], limit: Int? = nil,
    offset: Int = 0, context: ManagedObjectContext? = nil
  ) throws -> [Model] {
    try reading(in: context) {
      try $0.fetchModels(mapping, where: predicate, sort: sort, limit: limit, offset: offset)
    }
  }

  /// Fetches the models of some uids, none for an empty list. Uids that no record has are passed over. The models do not
  /// come in the order of the uids.
  ///
  /// - Throws: As ``fetchModels(_:where:sort:limit:offset:context:)``, and ``ErrorCode/invalidUid``.
  public final func fetchModels<Model, Uid: AttributeConvertible>(
    _ mapping: Mapping<Model>, uids: [Uid], context: ManagedObjectContext? = nil
  ) throws -> [Model] {
    try reading(in: context) { try $0.fetchModels(mapping, uids: uids) }
  }

  /// Fetches the model of a uid; `nil` when no record has it.
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

  /// Saves models as records, in one transaction: changes the record that has a model's uid, where it differs, and makes
  /// one when there is none. Records that are as their models cost neither an object nor a write. A save that loses a race
  /// to another writer is planned again, see
  /// ``PersistenceManager/save(entity:models:shouldOverwrite:duplicates:context:)``.
  ///
  /// Records keep dates to the microsecond. So a saved model with a `Date` of now differs from the model that is fetched;
  /// ``Mapping/storedForm(of:)`` returns the model to go on with.
  ///
  /// - Parameters:
  ///   - shouldOverwrite: Whether records that no model stands for are deleted, by the model's delete rules.
  ///   - duplicates: What becomes of models with the same uid.
  ///   - context: Where to do it. What else the context has to save is saved too.
  /// - Returns: How many records were written, and how.
  /// - Throws: ``ErrorCode/contextWithoutStore`` before `load`; ``ErrorCode/wrongContext``; ``ErrorCode/invalidUid``;
  ///   ``ErrorCode/duplicateUid``; ``ErrorCode/modelDoesNotFit``; what `save` of a context throws. Nothing is saved then.
  @discardableResult
  public final func save<Model>(
    _ mapping: Mapping<Model>, models: [Model], shouldOverwrite: Bool, duplicates: DuplicateUids = .lastWins,
    context: ManagedObjectContext? = nil
  ) throws -> SaveResult {
    try planning(mapping.entityName, in: context) {
      try $0.save(mapping, models: models, shouldOverwrite: shouldOverwrite, duplicates: duplicates)
    }
  }

  // MARK: Deleting

  /// Deletes the records of some uids by the model's delete rules, in one transaction. Uids that no record has are passed
  /// over.
  ///
  /// - Returns: How many records were deleted, without those that delete rules added.
  /// - Throws: As ``fetchModels(_:uids:context:)``, and what `save` of a context throws. Nothing is deleted then.
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

  /// Deletes the records that satisfy a condition; all for `nil`. See ``delete(_:uids:context:)``.
  @discardableResult
  public final func delete<Model>(
    _ mapping: Mapping<Model>, where predicate: FetchPredicate?, context: ManagedObjectContext? = nil
  ) throws -> Int {
    try writing(in: context) { try $0.delete(mapping, where: predicate) }
  }
}

// MARK: - Awaited

extension PersistenceManager {
  /// Fetches the models of the records that satisfy a condition; see the form that waits.
  public final func fetchModels<Model: Sendable>(
    _ mapping: Mapping<Model>, where predicate: FetchPredicate? = nil, sort: [SortKey] = [], limit: Int? = nil,
    offset: Int = 0
  ) async throws -> [Model] {
    try await inWorker {
      try self.fetchModels(mapping, where: predicate, sort: sort, limit: limit, offset: offset, context: $0)
    }
  }

  /// Fetches the models of some uids; see the form that waits.
  public final func fetchModels<Model: Sendable, Uid: AttributeConvertible>(
    _ mapping: Mapping<Model>, uids: [Uid]
  ) async throws -> [Model] {
    try await inWorker { try self.fetchModels(mapping, uids: uids, context: $0) }
  }

  /// Fetches the model of a uid; see the form that waits.
  public final func fetchModel<Model: Sendable, Uid: AttributeConvertible>(
    _ mapping: Mapping<Model>, uid: Uid
  ) async throws -> Model? {
    try await inWorker { try self.fetchModel(mapping, uid: uid, context: $0) }
  }

  /// Counts the records that satisfy a condition; see the form that waits.
  public final func count<Model: Sendable>(
    _ mapping: Mapping<Model>, where predicate: FetchPredicate? = nil
  ) async throws -> Int {
    try await inWorker { try self.count(mapping, where: predicate, context: $0) }
  }

  /// Saves models as records, in one transaction; see the form that waits.
  @discardableResult
  public final func save<Model: Sendable>(
    _ mapping: Mapping<Model>, models: [Model], shouldOverwrite: Bool, duplicates: DuplicateUids = .lastWins
  ) async throws -> SaveResult {
    try await inWorker {
      try self.save(mapping, models: models, shouldOverwrite: shouldOverwrite, duplicates: duplicates, context: $0)
    }
  }

  /// Deletes the records of some uids; see the form that waits.
  @discardableResult
  public final func delete<Model: Sendable, Uid: AttributeConvertible>(
    _ mapping: Mapping<Model>, uids: [Uid]
  ) async throws -> Int {
    try await inWorker { try self.delete(mapping, uids: uids, context: $0) }
  }

  /// Deletes the records of some models; see the form that waits.
  @discardableResult
  public final func deleteModels<Model: Sendable>(
    _ mapping: Mapping<Model>, models: [Model]
  ) async throws -> Int {
    try await inWorker { try self.deleteModels(mapping, models: models, context: $0) }
  }

  /// Deletes the records that satisfy a condition; see the form that waits.
  @discardableResult
  public final func delete<Model: Sendable>(
    _ mapping: Mapping<Model>, where predicate: FetchPredicate?
  ) async throws -> Int {
    try await inWorker { try self.delete(mapping, where: predicate, context: $0) }
  }
}
