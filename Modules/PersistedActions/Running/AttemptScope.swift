import Foundation
import Synchronization

/// The task of a running attempt, by which a stop finds out that an action of the worker has called it: the stop waits
/// for the action, so that the action must not wait for the stop.
final class AttemptScope: Sendable {
  /// The attempt of which the present task is a part; `nil` outside of actions. A task that an action makes with
  /// `Task { }` is a part of its attempt.
  @TaskLocal private static var current: AttemptScope?

  /// The identifier of the worker.
  private let worker: UUID
  private let hasEnded = Atomic<Bool>(false)

  private init(_ worker: UUID) { self.worker = worker }

  /// Runs the body of an attempt.
  static func run(by worker: UUID, _ body: () async throws -> Void) async throws {
    let scope = AttemptScope(worker)
    defer { scope.hasEnded.store(true, ordering: .releasing) }
    try await $current.withValue(scope, operation: body)
  }

  /// Whether the caller is a part of a running attempt of a worker.
  static func isRunning(by worker: UUID) -> Bool {
    guard let current, current.worker == worker else { return false }
    return !current.hasEnded.load(ordering: .acquiring)
  }
}
