import CoherenceCore

/// What the stack's observer is told of an action: each attempt, as a part of what submitted the action.
struct ActionObservation: Sendable {
  private let action: any Action
  /// Not kept: an action that goes on after its Connect is gone is nobody's to observe.
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
