public import CoherenceCore

extension PersistenceManager {
  /// Marks the records of some uids as uploaded, as they are now. Uids that no record has are passed over.
  ///
  /// What was edited since it was sent is marked too; ``markRecordsAsUploaded(entity:receipts:context:)`` tells that apart.
  ///
  /// - Throws: ``ErrorCode/contextWithoutStore`` before `load`; ``ErrorCode/wrongContext``; ``ErrorCode/invalidUid``; what
  ///   `save` of a context throws. Nothing is marked then.
  public final func markRecordsAsUploaded<T: SyncRecord>(
    entity: T.Type, uids: [T.UidType], context: ManagedObjectContext? = nil
  ) throws {
    try marking(T.entityName, in: context) { transaction in
      for record in try transaction.records(T.self, with: uids, and: T.isUploaded(false)) {
        try record.markAsUploaded()
      }
    }
  }

  /// Marks records as uploaded that are still as they were sent.
  ///
  /// - Parameter receipts: Of the records when they were fetched to be sent; see ``SyncRecord/uploadReceipt``.
  /// - Returns: The records that were edited or deleted meanwhile, those with unsaved changes in the context included. They are not marked, and are to be sent again.
  /// - Throws: As ``markRecordsAsUploaded(entity:uids:context:)``.
  @discardableResult
  public final func markRecordsAsUploaded<T: SyncRecord>(
    entity: T.Type, receipts: [UploadReceipt], context: ManagedObjectContext? = nil
  ) throws -> Set<ManagedObjectID> {
    try working(in: context) { context in
      var round = UploadRound<T>(receipts, in: context)
      while true {
        do {
          try writing(in: context) { transaction in
            transaction.fate.demandStrictness()
            try round.mark()
          }
          return round.changed
        } catch let error as CoherenceError where error.code == .versionConflict && !error.conflicts.isEmpty {
          // Edited between our look and our save. There are fewer records to mark in each round.
          guard round.leaveOut(error.conflicts.map(\.objectID)) else { throw error }
        }
      }
    }
  }

  /// Marks the records of some uids as deleted, so that the server is told. Uids that no record has are passed over.
  /// Records that the server never knew are deleted at once, where ``SyncRecord/isKnownToServerKey`` tells.
  ///
  /// - Throws: As ``markRecordsAsUploaded(entity:uids:context:)``.
  public final func markRecordsAsDeleted<T: SyncRecord>(
    entity: T.Type, uids: [T.UidType], context: ManagedObjectContext? = nil
  ) throws {
    try marking(T.entityName, in: context) { transaction in
      for record in try transaction.records(T.self, with: uids, and: T.wasDeleted(false)) {
        try record.markAsDeleted(in: transaction.context)
      }
    }
  }

  /// Marks all records as deleted; see ``markRecordsAsDeleted(entity:uids:context:)``.
  public final func markAllRecordsAsDeleted<T: SyncRecord>(
    entity: T.Type, context: ManagedObjectContext? = nil
  ) throws {
    try marking(T.entityName, in: context) { transaction in
      for record in try transaction.records(T.self, where: T.wasDeleted(false), sort: []) {
        try record.markAsDeleted(in: transaction.context)
      }
    }
  }

  /// Deletes the records that are marked as deleted and of which the server was told.
  ///
  /// - Returns: How many records were deleted, without those that delete rules added.
  /// - Throws: As ``delete(entity:predicate:saveEvery:context:)``.
  @discardableResult
  public final func purgeDeletedRecords<T: SyncRecord>(
    entity: T.Type, context: ManagedObjectContext? = nil
  ) throws -> Int {
    try delete(entity: entity, predicate: .and([T.isUploaded(true), T.wasDeleted(true)]), context: context)
  }
}

extension PersistenceTransaction {
  fileprivate func records<T: SyncRecord>(
    _ type: T.Type, with uids: [T.UidType], and condition: FetchPredicate
  ) throws -> [T] {
    let table = try UidTable(T.self, in: context)
    return try table.records(T.self, with: uids.map { try table.checked($0.attributeValue) }, and: condition)
  }
}

extension SyncRecord {
  func markAsUploaded() throws {
    isUploaded = true
    try setKnownToServer()
  }

  func markAsDeleted(in context: ManagedObjectContext) throws {
    guard try mayBeKnownToServer() else { return context.delete(self) }
    wasDeleted = true
    isUploaded = false
  }
}
