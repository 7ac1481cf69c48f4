public import CoherenceCore

extension Outbox {
  /// Resolves a conflict: brings the record and its entries in line with the user's decision, and removes the conflict, in
  /// one transaction. The entries that remain are sent.
  ///
  /// ```swift
  /// for conflict in try await outbox.conflicts() {
  ///   try await outbox.resolve(conflict.id, keeping: .server)
  /// }
  /// ```
  /// - Parameter resolution: The decision.
  /// - Throws: `ErrorCode.objectNotFound` when the conflict was resolved meanwhile; `ErrorCode.unknownEntity` for a decision
  ///   that changes a record whose entity the model does not have; `ErrorCode.illegalState` while a
  ///   process sends an entry of the record; `ErrorCode.unknownProperty`, `ErrorCode.wrongType` and
  ///   `ErrorCode.invalidValue` for values that do not fit; `ErrorCode.versionConflict` when the record or an entry changes
  ///   at the same time; errors of the store. Nothing is changed then, and the call can be repeated.
  public func resolve(_ id: OutboxConflict.ID, keeping resolution: OutboxResolution) async throws {
    let context = newContext()
    try await context.perform {
      let found = try context.objects(for: id.entity.name == OutboxConflictRecord.entityName ? [id] : [])
      guard let conflict = found.first as? OutboxConflictRecord else {
        throw CoherenceError(
          .objectNotFound, "The outbox has no such conflict any more: it was resolved meanwhile. Read the list again.")
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
