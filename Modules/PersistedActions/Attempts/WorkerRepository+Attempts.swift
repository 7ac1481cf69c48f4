import CoherenceCore
import Foundation

// The ends of attempts, and the changes of an action's record during its attempt.

extension WorkerRepository {
  /// Saves the ends of attempts on actions of one store, in one transaction. An attempt whose lease was lost writes
  /// nothing.
  ///
  /// A suspended process can resume after another worker has taken its actions over. Each record is therefore fetched
  /// again, and its token compared with the token of the claim. The save then requires the fetched version, so that a
  /// takeover between the comparison and the commit is detected too.
  ///
  /// - Returns: An event for each attempt.
  func finish(_ attempts: [EndedAttempt], at date: Date) async throws -> [PersistedActionEvent] {
    try await changing { context in
      let records = try Self.records(attempts.map(\.claim.recordID), in: context)
      let recording = AttemptRecording(repository: self, context: context, date: date)
      return try attempts.map { attempt in
        guard let record = records[attempt.claim.recordID], record.isRunning(under: attempt.claim) else {
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
      guard let record = try Self.records([claim.recordID], in: context)[claim.recordID], record.isRunning(under: claim)
      else { throw Self.leaseLost(claim) }
      try change(record)
    }
  }

  /// The maximum number of saves when other transactions, such as a request to cancel, change the action's record.
  private static let saveLimit = 16

  /// Saves the changes of a context and a change of the running action's record in one transaction.
  ///
  /// Call it on the context's thread. A conflict over the action's record repeats the save; the context's merge policy
  /// resolves the conflicts over all other records.
  ///
  /// - Parameter change: Changes the record. Called again for each repetition of the save.
  /// - Throws: ``ErrorCode/leaseLost``; `CancellationError` when the cancellation of the action was requested; errors of
  ///   the save.
  func save<T>(
    _ claim: ActionClaim, in context: ManagedObjectContext, _ change: (PersistedActionRecord) throws -> T
  ) throws -> T {
    let policy = context.mergePolicy
    defer { context.mergePolicy = policy }
    var strict = policy
    // A merge policy that prefers the context's values would let a worker without a lease finish the action.
    strict.allows = { conflict in
      if conflict.objectID == claim.recordID { throw ChangedActionRecord() }
      return try policy.allows?(conflict) ?? true
    }
    context.mergePolicy = strict
    var saveCount = 1
    while true {
      guard let record = try Self.records([claim.recordID], in: context)[claim.recordID], record.isRunning(under: claim)
      else { throw Self.leaseLost(claim) }
      if record.isCancelRequested { throw CancellationError() }
      let insertedBefore = context.insertedObjects
      let result = try change(record)
      do {
        try context.save()
        return result
      } catch let error as CoherenceError where error.underlying is ChangedActionRecord && saveCount < Self.saveLimit {
        // The repeated change inserts the record of a schedule's run again; the first one must not be saved too.
        for object in context.insertedObjects.subtracting(insertedBefore) { context.delete(object) }
        context.refresh(record, mergeChanges: false)
        saveCount += 1
      }
    }
  }

  /// The error of a save that found a newer version of the action's record.
  private struct ChangedActionRecord: Error {}

  static func leaseLost(_ claim: ActionClaim) -> CoherenceError {
    CoherenceError(
      .leaseLost,
      "Another worker has taken over the action '\(claim.handle.name)', because this worker sent no heartbeat for "
        + "longer than its lease; nothing was saved. Make the lease longer than the longest pause of the process.")
  }
}

extension PersistedActionRecord {
  /// Whether the action still runs under a claim.
  func isRunning(under claim: ActionClaim) -> Bool { state == .running && lease == claim.lease }
}
