import CoherenceCore

/// Reports an action to the stack's observer: each attempt, as a part of the operation that submitted the action.
struct ActionObservation: Sendable {
  private let action: any Action
  /// Not kept: an action that outlives its Connect is not observed any more.
  private weak let coordinator: PersistentStoreCoordinator?
  private let scope: (any StackScope)?

  /// Made where the action is submitted.
  init(of action: any Action, in coordinator: PersistentStoreCoordinator) {
    self.action = action
    self.coordinator = coordinator
    scope = coordinator.carriedScope
  }

  private var operation: StackOperation { StackOperation(.action, "\(type(of: action))") }

  func attempt<Output>(_ body: () throws -> Output) rethrows -> Output {
    guard let coordinator else { return try body() }
    guard let scope else { return try coordinator.observed(operation, body) }
    return try scope.run { try coordinator.observed(operation, body) }
  }

  func attempt<Output>(_ body: () async throws -> Output) async rethrows -> Output {
    guard let coordinator else { return try await body() }
    guard let scope else { return try await coordinator.observed(operation, body) }
    return try await scope.run { try await coordinator.observed(operation, body) }
  }
}
