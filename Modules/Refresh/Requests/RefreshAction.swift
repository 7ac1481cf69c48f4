import CoherenceActions
import CoherenceCore
import CoherenceStrategies

/// The entity action of one attempt. As an entity action, the attempt waits in the queue of the entity's actions.
struct RefreshAction: AsyncEntityAction {
  typealias ManagedObjectType = ManagedObject

  let registration: RefreshRegistration
  let store: CursorStore
  let reason: RefreshReason
  let status: RefreshStatus
  /// Extends the lease after the wait in the queue. Throws when another attempt has taken the lease over.
  let renewLease: @Sendable () async throws -> Void
  /// Releases the lease of a cancelled attempt.
  let releaseLease: @Sendable () async -> Void

  var entityName: String? { registration.entity.name }

  func execute(context: ActionContext) async throws {
    try await renewLease()
    let request = RefreshRequest(
      context: context, entity: registration.entity, scope: store.name.scope.isEmpty ? nil : store.name.scope,
      reason: reason, lastSyncTime: status.lastSyncTime, cursor: status.cursor, store: store)
    let result: Result<Void, any Error>
    do { result = .success(try await registration.body(request)) } catch { result = .failure(error) }
    // As a part of the action: a detachment of the store cancels the action, and closes the store after its end.
    if AnyActionHandle.current?.completionStatus == .canceled { await releaseLease() }
    try result.get()
  }
}

extension RefreshAction {
  /// The failure of an action.
  struct Failure: Sendable {
    let error: any Error
    /// Whether the action was cancelled: by a stop of the refresher or of the Connect, or by the program.
    let isCancellation: Bool
  }

  /// Whether the caller is a part of a running attempt.
  static var isCurrent: Bool {
    guard let caller = AnyActionHandle.current else { return false }
    return caller.action is RefreshAction && caller.state != .finished
  }

  /// Runs the action and waits for its end. Cancelling the task cancels the action, and does not end the wait: the
  /// attempt has its lease until it changes no more records. Observers of the stack see the run as an operation.
  ///
  /// - Parameter noteSubmission: Receives the handle of the action before the wait.
  /// - Returns: The failure; `nil` after a success.
  func run(
    in connect: any Connect & ActionManager, noteSubmission: @Sendable (AnyActionHandle) async -> Void
  ) async -> Failure? {
    var isCanceled = false
    do {
      try await connect.persistentStoreCoordinator.observed(StackOperation(.refresh, registration.entity.name)) {
        let handle = try connect.execute(self, options: ActionOptions(timeout: registration.timeLimit))
        defer { isCanceled = handle.completionStatus == .canceled }
        await noteSubmission(handle)
        try await withTaskCancellationHandler {
          // In a task of its own, because a cancellation would end the wait before the action has ended.
          try await Task { try await handle.value }.value
        } onCancel: {
          handle.cancel()
        }
      }
      return nil
    } catch {
      return Failure(error: error, isCancellation: isCanceled)
    }
  }
}
