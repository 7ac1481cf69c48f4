public import CoherenceCore

extension PersistenceManager {
  /// Saves models as records, in one transaction.
  ///
  /// A model updates the record with its uid, in the attributes that differ, and is inserted as a new record if no
  /// record has the uid. Of several records with one uid, the oldest is kept and the others are deleted.
  ///
  /// The save deletes no record of a read-only store. A model updates such a record only if no writable store has a
  /// record with the uid, and the save then throws ``ErrorCode/storeReadOnly`` unless the values are equal.
  ///
  /// `fromModel` rounds the dates that it assigns to the microsecond. `Date.roundedToMicroseconds()` gives the date of
  /// the fetched model.
  ///
  /// Another writer may save the same uids at the same time. A save loses such a race when the other writer inserted a
  /// uid that the save inserts, or deleted or, under the policy ``MergePolicy/error``, changed a record that the save
  /// writes. The save is then planned again from the newer records, as if it had begun after the other save, and
  /// `fromModel` is called again. During the last attempt the store keeps other writers out. A record that equals its
  /// model is not written, so another writer's concurrent deletion or change of it stays. In a context with other
  /// changes, and in a transaction of the caller, the error is thrown instead. Other merge policies resolve conflicts
  /// over records. A context that follows other contexts, such as ``mainContext``, merges a save of another writer
  /// property by property, so that a record may have values of both saves.
  ///
  /// May be called on any thread. The cost is one object for each stored record of the models, or of the entity when
  /// `shouldOverwrite` is set.
  ///
  /// - Parameters:
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
  ///   of new records; ``ErrorCode/noStore`` for a store of new records without the entity; errors of `fromModel` and
  ///   of saving a context. ``ErrorCode/versionConflict`` with `isRetryable` set after a lost race in every attempt,
  ///   with a store without exclusive writing. Nothing is saved then, unless the outcome of the error says otherwise, and
  ///   a context without other changes is rolled back.
  @discardableResult
  public final func save<Record: RecordFromModel>(
    entity: Record.Type, models: [Record.ModelType], shouldOverwrite: Bool, duplicates: DuplicateUids = .lastWins,
    in store: (any PersistentStore)? = nil, context: ManagedObjectContext? = nil
  ) throws -> SaveResult {
    try planning(Record.entityName, in: context) {
      try $0.save(
        entity: entity, models: models, shouldOverwrite: shouldOverwrite, duplicates: duplicates, in: store)
    }
  }

  /// Saves models and marks their records for synchronisation, in one transaction. A conflict with another writer is
  /// planned again, regardless of the merge policy, so that no edit gets the mark of another edit.
  ///
  /// - Parameter origin: The origin of the models, which decides about the marks, and about records with edits that
  ///   still await their upload.
  /// - Throws: As ``save(entity:models:shouldOverwrite:duplicates:in:context:)``.
  @discardableResult
  public final func save<Record: RecordFromModel & SyncRecord>(
    entity: Record.Type, models: [Record.ModelType], shouldOverwrite: Bool, from origin: SyncOrigin,
    duplicates: DuplicateUids = .lastWins, in store: (any PersistentStore)? = nil,
    context: ManagedObjectContext? = nil
  ) throws -> SaveResult {
    try marking(Record.entityName, in: context) {
      try $0.save(
        entity: entity, models: models, shouldOverwrite: shouldOverwrite, from: origin, duplicates: duplicates,
        in: store)
    }
  }

  /// Runs a block as one transaction: all of its changes are saved, or none.
  ///
  /// A save in the block that throws fails the transaction, even if the block catches the error. Writing methods of the
  /// manager become a part of the transaction when they get its context; with another context they are separate
  /// transactions.
  ///
  /// ```swift
  /// try manager.transaction { transaction in
  ///   try transaction.delete(entity: PersonRecord.self, uids: leavers)
  ///   try transaction.save(entity: TeamRecord.self, models: teams, shouldOverwrite: false)
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - context: The context of the transaction, whose other changes are saved too; by default a new context.
  ///   - body: Uses the transaction, which is invalid after the block. If the block throws, nothing is saved.
  /// - Returns: The result of the block.
  /// - Throws: Errors of the block and of saving a context; ``ErrorCode/contextWithoutStore`` before `load`.
  @discardableResult
  public final func transaction<T>(
    context: ManagedObjectContext? = nil, _ body: (PersistenceTransaction) throws -> T
  ) throws -> T {
    try writing(in: context, body)
  }
}
