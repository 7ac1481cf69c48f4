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

  var entityName: String? { registration.entity.name }

  func execute(context: ActionContext) async throws {
    try await renewLease()
    try await registration.body(
      RefreshRequest(
        context: context, entity: registration.entity, scope: store.name.scope.isEmpty ? nil : store.name.scope,
        reason: reason, lastSyncTime: status.lastSyncTime, cursor: status.cursor, store: store))
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
  /// - Returns: The failure; `nil` after a success.
  func run(in connect: any Connect & ActionManager) async -> Failure? {
    var isCanceled = false
    do {
      try await connect.persistentStoreCoordinator.observed(StackOperation(.refresh, registration.entity.name)) {
        let handle = try connect.execute(self, options: ActionOptions(timeout: registration.timeLimit))
        defer { isCanceled = handle.completionStatus == .canceled }
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
