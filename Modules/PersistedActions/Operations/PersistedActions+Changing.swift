import CoherenceCore
public import Foundation

extension PersistedActions {
  /// Cancels an action: at once while it waits, and by a request to its worker while it runs. Does nothing for a finished
  /// action.
  ///
  /// A running action sees the request as the cancellation of its task. It is canceled even if it then returns, unless it
  /// commits its work before.
  ///
  /// - Returns: Whether the action is canceled or will be.
  /// - Throws: ``ErrorCode/objectNotFound`` for an unknown handle; errors of the store.
  @discardableResult
  public func cancel(_ handle: PersistedActionHandle) async throws -> Bool {
    try await changing { context in
      let record = try Self.existing(handle, in: context)
      switch record.state {
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

  /// Has a scheduled action wait for a worker now, as if its date were reached. After the run, a schedule goes on with its
  /// next date.
  ///
  /// - Returns: Whether the action waits; `false` for an action that is running or has finished.
  /// - Throws: ``ErrorCode/objectNotFound`` for an unknown handle; errors of the store.
  @discardableResult
  public func runNow(_ handle: PersistedActionHandle) async throws -> Bool {
    try await changing { context in
      let record = try Self.existing(handle, in: context)
      guard record.state == .scheduled else { return record.state == .waiting }
      let date = now()
      record.wait(from: date, now: date)
      context.signalOnSave(ActionChannel.due)
      return true
    }
  }

  /// Has a parked or canceled action run again, with all of its attempts, from its checkpoint on.
  ///
  /// - Returns: Whether the action waits; `false` for an action in another state.
  /// - Throws: ``ErrorCode/objectNotFound`` for an unknown handle; ``ErrorCode/uniquenessViolated`` while another action
  ///   with the same unique key is unfinished; errors of the store.
  @discardableResult
  public func retry(_ handle: PersistedActionHandle) async throws -> Bool {
    try await changing { context in
      let record = try Self.existing(handle, in: context)
      guard record.state == .parked || record.state == .canceled else { return false }
      let date = now()
      record.attempts = 0
      record.isCancelRequested = false
      record.finishedDate = nil
      // The record of a finished run has the key of its schedule no more.
      record.activeKey = record.key
      record.wait(from: date, now: date)
      context.signalOnSave(ActionChannel.due)
      return true
    }
  }

  /// Deletes the record of an action that is not running.
  ///
  /// - Returns: Whether the record was deleted; `false` for a running action, and without a record.
  /// - Throws: Errors of the store.
  @discardableResult
  public func delete(_ handle: PersistedActionHandle) async throws -> Bool {
    try await changing { context in
      guard let record = try Self.record(handle, in: context), record.state != .running else { return false }
      context.delete(record)
      return true
    }
  }

  /// Deletes finished actions whose time is over. Workers prune every ten minutes while they have work.
  ///
  /// - Parameters:
  ///   - retention: The time for which actions are kept.
  ///   - date: The present date.
  /// - Returns: The number of deleted actions.
  /// - Throws: Errors of the store.
  @discardableResult
  public func prune(_ retention: PersistedActionRetention, at date: Date = Date()) async throws -> Int {
    try await ledger(retention).prune(at: date)
  }

  /// Runs a block that changes records, and saves; again from newer rows when the save loses a race.
  private func changing<T: Sendable>(
    _ body: @escaping @Sendable (ManagedObjectContext) throws -> T
  ) async throws -> T {
    try await ledger(PersistedActionRetention()).changing(body)
  }

  private func ledger(_ retention: PersistedActionRetention) throws -> ActionLedger {
    ActionLedger(
      coordinator: coordinator, entity: try coordinator.managedObjectModel.persistedActionEntity(),
      catalog: try ActionCatalog([], schedules: []), worker: UUID(), workerName: "", retention: retention, queues: [],
      leavesUnknownActions: true)
  }
}
