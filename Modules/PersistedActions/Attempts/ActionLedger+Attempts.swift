import CoherenceCore
import Foundation

// The ends of attempts, and the changes that an attempt makes in its own record.

extension ActionLedger {
  /// Saves the ends of attempts, in one transaction. An attempt whose lease was lost writes nothing.
  ///
  /// A worker that was stopped may come back after its lease was taken over. Each record is read anew, compared with the
  /// token of the claim, and saved on the version that was compared: a takeover before, between or after loses nothing.
  ///
  /// - Returns: An event for each attempt.
  func finish(_ attempts: [EndedAttempt], at date: Date) async throws -> [PersistedActionEvent] {
    try await changing { context in
      let records = try Self.records(attempts.map(\.claim.recordID), in: context)
      let recording = AttemptRecording(ledger: self, context: context, date: date)
      return try attempts.map { attempt in
        guard let record = records[attempt.claim.recordID], record.isHeld(by: attempt.claim) else {
          return .leaseLost(attempt.claim.handle)
        }
        return try recording.record(attempt, in: record)
      }
    }
  }

  /// Changes the record of a running action, in a transaction of its own.
  ///
  /// - Throws: ``ErrorCode/leaseLost``.
  func update(
    _ claim: ActionClaim, _ change: @escaping @Sendable (PersistedActionRecord) throws -> Void
  ) async throws {
    try await changing { context in
      guard let record = try Self.records([claim.recordID], in: context)[claim.recordID], record.isHeld(by: claim)
      else { throw Self.leaseLost(claim) }
      try change(record)
    }
  }

  /// The number of attempts of a save that meets changes of the action's own record, such as a request to cancel it.
  private static let saveLimit = 16

  /// Saves the changes of a context together with a change of the running action's record: both, or neither.
  ///
  /// To be called inside the context, whose merge policy decides about all other records.
  ///
  /// - Parameter change: Changes the record. Called again when the save meets a change of the record.
  /// - Throws: ``ErrorCode/leaseLost``; `CancellationError` when the cancellation of the action was requested; errors of
  ///   the save.
  func save<T>(
    _ claim: ActionClaim, in context: ManagedObjectContext, _ change: (PersistedActionRecord) throws -> T
  ) throws -> T {
    let policy = context.mergePolicy
    defer { context.mergePolicy = policy }
    var strict = policy
    // No policy may resolve a conflict over the action's own record: a worker that has lost its lease would win.
    strict.allows = { conflict in
      if conflict.objectID == claim.recordID { throw ChangedActionRecord() }
      return try policy.allows?(conflict) ?? true
    }
    context.mergePolicy = strict
    for attempt in 1... {
      guard let record = try Self.records([claim.recordID], in: context)[claim.recordID], record.isHeld(by: claim)
      else { throw Self.leaseLost(claim) }
      if record.isCancelRequested { throw CancellationError() }
      let known = context.insertedObjects
      let result = try change(record)
      do {
        try context.save()
        return result
      } catch let error as CoherenceError where error.underlying is ChangedActionRecord && attempt < Self.saveLimit {
        // The record of a run, which the change has inserted, is inserted again.
        for object in context.insertedObjects.subtracting(known) { context.delete(object) }
        context.refresh(record, mergeChanges: false)
      }
    }
    throw Self.leaseLost(claim)
  }

  /// Thrown by the policy of a save that meets a change of the action's own record.
  private struct ChangedActionRecord: Error {}

  static func leaseLost(_ claim: ActionClaim) -> CoherenceError {
    CoherenceError(
      .leaseLost,
      "The action '\(claim.handle.name)' was taken over by another worker, because this worker gave no sign of life for "
        + "longer than its lease; nothing was saved. Make the lease longer than the longest pause of the process.")
  }
}

extension PersistedActionRecord {
  /// Whether the record still belongs to a claim.
  func isHeld(by claim: ActionClaim) -> Bool { state == .running && lease == claim.lease }
}
