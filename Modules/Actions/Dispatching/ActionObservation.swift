import CoherenceCore

/// Reports each attempt of an action to the stack's observer, as a part of the operation that submitted the action.
struct ActionObservation: Sendable {
  private let action: any Action
  /// Weak: an action that outlives its Connect is not observed any more.
  private weak let coordinator: PersistentStoreCoordinator?
  /// The scope of the submitting operation.
  private let scope: (any StackScope)?

  /// Made in the scope of the submitter.
  init(of action: any Action, in coordinator: PersistentStoreCoordinator) {
    self.action = action
    self.coordinator = coordinator
    scope = coordinator.carriedScope
  }

  private var operation: StackOperation { StackOperation(.action, "\(type(of: action))") }

  /// Runs and reports an attempt.
  func attempt<Output>(_ body: () throws -> Output) rethrows -> Output {
    guard let coordinator else { return try body() }
    guard let scope else { return try coordinator.observed(operation, body) }
    return try scope.run { try coordinator.observed(operation, body) }
  }

  /// Runs and reports an asynchronous attempt.
  func attempt<Output>(_ body: () async throws -> Output) async rethrows -> Output {
    guard let coordinator else { return try await body() }
    guard let scope else { return try await coordinator.observed(operation, body) }
    return try await scope.run { try await coordinator.observed(operation, body) }
  }
}
