public import CoherenceCore

extension PersistenceManager {
  /// Marks the records of some uids as uploaded. Uids without a record are skipped.
  ///
  /// Records edited since their upload are marked too; ``markRecordsAsUploaded(entity:receipts:context:)`` skips them.
  ///
  /// - Throws: ``ErrorCode/contextWithoutStore`` before `load`; ``ErrorCode/wrongContext``; ``ErrorCode/invalidUid``;
  ///   the errors of a context's `save`. No mark is saved then; a context with other changes may keep the marks,
  ///   unsaved.
  public final func markRecordsAsUploaded<T: SyncRecord>(
    entity: T.Type, uids: [T.UidType], context: ManagedObjectContext? = nil
  ) throws {
    try marking(T.entityName, in: context) { transaction in
      for record in try transaction.records(T.self, with: uids, and: T.isUploaded(false)) {
        try record.markAsUploaded()
      }
    }
  }

  /// Marks records as uploaded, except for records changed since their upload. Over several stores, the records of each
  /// store are marked by a save of their own.
  ///
  /// - Parameter receipts: The receipts of the uploaded records; see ``SyncRecord/uploadReceipt``.
  /// - Returns: The records edited or deleted since their upload, including records with unsaved changes in the
  ///   context. These records get no mark and need another upload.
  /// - Throws: As ``markRecordsAsUploaded(entity:uids:context:)``. The marks of stores that were saved before stay.
  @discardableResult
  public final func markRecordsAsUploaded<T: SyncRecord>(
    entity: T.Type, receipts: [UploadReceipt], context: ManagedObjectContext? = nil
  ) throws -> Set<ManagedObjectID> {
    try working(in: context) { context in
      // A save over several stores could mark the records of one store and fail in another. Its repetition would take
      // the marked records for changed ones.
      var changed: Set<ManagedObjectID> = []
      for group in Dictionary(grouping: receipts, by: \.objectID.storeIdentifier).values {
        changed.formUnion(try mark(UploadBatch<T>(group, in: context), in: context))
      }
      return changed
    }
  }

  /// Marks the records of one store.
  ///
  /// - Returns: The records changed since their upload.
  private func mark<T: SyncRecord>(
    _ batch: UploadBatch<T>, in context: ManagedObjectContext
  ) throws -> Set<ManagedObjectID> {
    var batch = batch
    while true {
      do {
        try writing(in: context) { transaction in
          transaction.state.failOnConflicts()
          try batch.mark()
        }
        return batch.changed
      } catch let error as CoherenceError where error.code == .versionConflict && !error.conflicts.isEmpty {
        // Another writer edited these records before the save. Each repetition marks fewer records, so the loop ends.
        guard batch.exclude(error.conflicts.map(\.objectID)) else { throw error }
      }
    }
  }

  /// Marks the records of some uids as deleted, so that the deletion can be uploaded. Uids without a record are
  /// skipped. Records that the server never had, according to ``SyncRecord/isKnownToServerKey``, are deleted
  /// immediately. A record with marks that the server may have, and that the rule ``DeleteRule/cascade`` would delete
  /// with them, is marked as deleted too, unless it requires its owner.
  ///
  /// - Throws: As ``markRecordsAsUploaded(entity:uids:context:)``.
  public final func markRecordsAsDeleted<T: SyncRecord>(
    entity: T.Type, uids: [T.UidType], context: ManagedObjectContext? = nil
  ) throws {
    try marking(T.entityName, in: context) { transaction in
      try transaction.context.markAsDeleted(transaction.records(T.self, with: uids, and: T.wasDeleted(false)))
    }
  }

  /// Marks all records as deleted; see ``markRecordsAsDeleted(entity:uids:context:)``.
  public final func markAllRecordsAsDeleted<T: SyncRecord>(
    entity: T.Type, context: ManagedObjectContext? = nil
  ) throws {
    try marking(T.entityName, in: context) { transaction in
      try transaction.context.markAsDeleted(transaction.records(T.self, where: T.wasDeleted(false), sort: []))
    }
  }

  /// Deletes the records whose deletion the server has received: records marked both as deleted and as uploaded.
  ///
  /// - Returns: The number of deleted records, without the records that delete rules added.
  /// - Throws: As ``delete(entity:predicate:saveEvery:context:)``.
  @discardableResult
  public final func purgeDeletedRecords<T: SyncRecord>(
    entity: T.Type, context: ManagedObjectContext? = nil
  ) throws -> Int {
    try delete(entity: entity, predicate: .and([T.isUploaded(true), T.wasDeleted(true)]), context: context)
  }
}

extension PersistenceTransaction {
  /// Fetches the records of some uids that satisfy a condition.
  fileprivate func records<T: SyncRecord>(
    _ type: T.Type, with uids: [T.UidType], and condition: FetchPredicate
  ) throws -> [T] {
    let table = try UidTable(T.self, in: context)
    return try table.records(T.self, with: uids.map { try table.checked($0.attributeValue) }, and: condition)
  }
}
