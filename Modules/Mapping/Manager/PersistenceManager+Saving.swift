public import CoherenceCore

extension PersistenceManager {
  /// Saves models as records, in one transaction.
  ///
  /// A model changes the record that has its uid, in the attributes that really differ, and becomes a new record when
  /// there is none. Of several records with the uid the oldest is kept and the others are deleted.
  ///
  /// A record keeps dates to the microsecond from the moment that `fromModel` assigns them. `Date.roundedToMicroseconds()`
  /// makes a model that equals the fetched one.
  ///
  /// Another writer may save the same uids at the same time. A save that loses such a race, because the other one inserted
  /// a uid, deleted a record, or changed one under the policy ``MergePolicy/error``, is planned again from the records that
  /// there are by then, the last time while the store keeps other writers out: as if it had begun after the other save.
  /// `fromModel` is called again then. Not so in a context that has other changes, and in a transaction of the caller's:
  /// there the error is thrown. With another merge policy, conflicts over records are resolved as the policy says.
  ///
  /// - Parameters:
  ///   - shouldOverwrite: Whether records that no model stands for are deleted, by the model's delete rules. An empty list
  ///     of models then empties the entity, and does nothing otherwise.
  ///   - duplicates: What becomes of models with the same uid.
  ///   - context: Where to do it. What else the context has to save is saved too.
  /// - Returns: How many records were written, and how.
  /// - Throws: ``ErrorCode/contextWithoutStore`` before `load`; ``ErrorCode/wrongContext``; ``ErrorCode/invalidUid``;
  ///   ``ErrorCode/duplicateUid``; ``ErrorCode/modelDoesNotFit``; what `fromModel` and `save` of a context throw.
  ///   ``ErrorCode/versionConflict`` with `isRetryable` set when every race was lost, with a store that cannot keep other
  ///   writers out. Nothing is saved then, and a context that had nothing to save has nothing to save again.
  @discardableResult
  public final func save<Record: RecordFromModel>(
    entity: Record.Type, models: [Record.ModelType], shouldOverwrite: Bool, duplicates: DuplicateUids = .lastWins,
    context: ManagedObjectContext? = nil
  ) throws -> SaveResult {
    try planning(Record.entityName, in: context) {
      try $0.save(entity: entity, models: models, shouldOverwrite: shouldOverwrite, duplicates: duplicates)
    }
  }

  /// Saves models and marks their records for synchronisation, in one transaction. What others change meanwhile is looked
  /// at again, whatever the merge policy, so that no edit gets the mark of another one.
  ///
  /// - Parameter origin: Where the models come from, which decides about the marks, and about records that were edited
  ///   here and not sent yet.
  /// - Throws: As the form without an origin.
  @discardableResult
  public final func save<Record: RecordFromModel & SyncRecord>(
    entity: Record.Type, models: [Record.ModelType], shouldOverwrite: Bool, from origin: SyncOrigin,
    duplicates: DuplicateUids = .lastWins, context: ManagedObjectContext? = nil
  ) throws -> SaveResult {
    try marking(Record.entityName, in: context) {
      try $0.save(
        entity: entity, models: models, shouldOverwrite: shouldOverwrite, from: origin, duplicates: duplicates)
    }
  }

  /// Does several things in one transaction: all of them, or none. It fails with a save in it, also when the block catches
  /// the error. Methods of the manager that write take part when they are given the transaction's context; without, they
  /// are transactions of their own.
  ///
  /// ```swift
  /// try manager.transaction { transaction in
  ///   try transaction.delete(entity: PersonRecord.self, uids: leavers)
  ///   try transaction.save(entity: TeamRecord.self, models: teams, shouldOverwrite: false)
  /// }
  /// ```
  ///
  /// - Parameter body: Does it. The transaction is used inside alone. What it throws is thrown, and nothing is saved.
  /// - Throws: What the block and `save` of a context throw; ``ErrorCode/contextWithoutStore`` before `load`.
  @discardableResult
  public final func transaction<T>(
    context: ManagedObjectContext? = nil, _ body: (PersistenceTransaction) throws -> T
  ) throws -> T {
    try writing(in: context, body)
  }
}
