import CoherenceCore
public import Foundation

extension PersistedActions {
  /// Cancels an action. A waiting or scheduled action is cancelled at once, and a running action by a request to its
  /// worker. Does nothing for a finished action.
  ///
  /// The next run of a schedule is cancelled at its date, when a worker leaves it out, and the schedule continues.
  ///
  /// The worker cancels the task of a running action. The action ends as cancelled even if it returns without an error,
  /// unless it has committed its work before the request.
  ///
  /// - Returns: Whether the action is cancelled or will be.
  /// - Throws: ``ErrorCode/objectNotFound`` for an unknown handle; errors of the store.
  @discardableResult
  public func cancel(_ handle: PersistedActionHandle) async throws -> Bool {
    try await repository.changing { context in
      let record = try Self.existing(handle, in: context)
      switch record.state {
      case .scheduled where record.isRecurring, .waiting where record.isRecurring:
        record.isCancelRequested = true
        return true
      case .scheduled, .waiting:
        record.finish(.canceled, at: now())
        context.signalOnSave(ActionChannel.finished)
        return true
      case .running:
        record.isCancelRequested = true
        context.signalOnSave(ActionChannel.cancel)
        return true
      case .canceled: return true
      case .succeeded, .parked: return false
      }
    }
  }

  /// Makes a scheduled action due now, also after the cancellation of a schedule's next run. After the run, the action
  /// of a schedule waits for its next date.
  ///
  /// - Returns: Whether the action waits for a worker; `false` for a running or finished action.
  /// - Throws: ``ErrorCode/objectNotFound`` for an unknown handle; errors of the store.
  @discardableResult
  public func runNow(_ handle: PersistedActionHandle) async throws -> Bool {
    try await repository.changing { context in
      let record = try Self.existing(handle, in: context)
      guard record.state == .scheduled || record.state == .waiting else { return false }
      if record.isCancelRequested { record.isCancelRequested = false }
      if record.state == .waiting { return true }
      let date = now()
      record.requeue(from: date, now: date)
      return true
    }
  }

  /// Runs a parked or cancelled action again, from its checkpoint on, and with the full number of attempts.
  ///
  /// - Returns: Whether the call has returned the action to its queue; `false` for an action that was neither parked
  ///   nor cancelled.
  /// - Throws: ``ErrorCode/objectNotFound`` for an unknown handle; ``ErrorCode/uniquenessViolated`` while another
  ///   action with the same unique key is unfinished; errors of the store.
  @discardableResult
  public func retry(_ handle: PersistedActionHandle) async throws -> Bool {
    try await repository.changing { context in
      let record = try Self.existing(handle, in: context)
      guard record.state == .parked || record.state == .canceled else { return false }
      let date = now()
      record.attempts = 0
      record.isCancelRequested = false
      record.finishedDate = nil
      // The record of a schedule's finished run has no key, so that its retry does not become the schedule's record.
      record.activeKey = record.key
      record.requeue(from: date, now: date)
      return true
    }
  }

  /// Deletes the record of an action, unless the action is running.
  ///
  /// Never deletes the record of an equal action: after the end and the deletion of an action, its handle must not
  /// delete a later action with the same unique key. For a handle whose action was joined to an equal action, pass the
  /// handle of the action that ``action(_:)`` returns.
  ///
  /// - Returns: Whether the call has deleted the record; `false` for a running action, and for a handle without a
  ///   record of its own.
  /// - Throws: Errors of the store.
  @discardableResult
  public func delete(_ handle: PersistedActionHandle) async throws -> Bool {
    try await repository.changing { context in
      guard let record = try Self.ownRecord(handle, in: context), record.state != .running else { return false }
      // The callers that wait for the end of this action must learn that it has no record any more.
      if !record.state.isFinal { context.signalOnSave(ActionChannel.finished) }
      context.delete(record)
      return true
    }
  }

  /// Deletes finished actions whose retention has expired. Workers prune every ten minutes while they have work.
  ///
  /// - Parameters:
  ///   - retention: The time to keep finished actions.
  ///   - date: The present date.
  /// - Returns: The number of deleted actions.
  /// - Throws: Errors of the store.
  @discardableResult
  public func prune(_ retention: PersistedActionRetention, at date: Date = Date()) async throws -> Int {
    try await repository.prune(retention, at: date)
  }
}
