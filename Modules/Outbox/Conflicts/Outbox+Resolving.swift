public import CoherenceCore

extension Outbox {
  /// Resolves a conflict: applies the user's decision to the record and its entries, and deletes the conflict, in one
  /// transaction. A started outbox then sends the remaining entries of the record.
  ///
  /// ```swift
  /// for conflict in try await outbox.conflicts() {
  ///   try await outbox.resolve(conflict.id, keeping: .server)
  /// }
  /// ```
  /// - Parameters:
  ///   - id: The identifier of the conflict, from ``conflicts(in:limit:after:)``.
  ///   - resolution: The user's decision.
  /// - Throws: `ErrorCode.objectNotFound` when the conflict is already resolved; `ErrorCode.unknownEntity` for a
  ///   decision that changes a record whose entity the model does not have; `ErrorCode.illegalState` while a process
  ///   sends an entry of the record; `ErrorCode.storeCorrupt` for a decision other than the edit, if the server's
  ///   values cannot be read; `ErrorCode.unknownProperty`, `ErrorCode.wrongType` and `ErrorCode.invalidValue` for
  ///   values that do not fit; `ErrorCode.versionConflict` when the record or an entry changes at the same time;
  ///   errors of the store. A call that throws changes nothing and can be repeated.
  public func resolve(_ id: OutboxConflict.ID, keeping resolution: OutboxResolution) async throws {
    let context = newContext()
    try await context.perform {
      // A decision may add to the log, which each further decision would read as a whole.
      try self.makeEntries()
      let found = try context.objects(for: id.entity.name == OutboxConflictRecord.entityName ? [id] : [])
      guard let conflict = found.first as? OutboxConflictRecord else {
        throw CoherenceError(
          .objectNotFound, "The outbox no longer has the conflict: it is already resolved. Read the list again.")
      }
      if let recordID = self.recordID(of: conflict) {
        let resolver = try ConflictResolver(
          conflict, of: recordID, in: context, forwarding: self.entityNames, self.options)
        try resolver?.resolve(resolution)
      } else {
        try UnknownRecordResolver(conflict, in: context, self.options)?.resolve(resolution)
      }
      context.delete(conflict)
      context.signalOnSave(OutboxChannel.entries)
      try context.save()
    }
  }
}
