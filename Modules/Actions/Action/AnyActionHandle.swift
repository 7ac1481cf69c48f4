import CoherenceCore
public import Foundation
import Synchronization

/// The handle of an action with any type of result: ``ActionHandle`` without the value.
public class AnyActionHandle: ActionProxy, @unchecked Sendable {
  // Sendable: every property is immutable, or behind the mutex; the compiler cannot check a non-final class.

  /// The handle of the action that the current thread or task executes.
  ///
  /// A task that an action makes with `Task { }` or in a group is part of it; one made with `Task.detached` is not.
  public static var current: AnyActionHandle? { executing }
  @TaskLocal static var executing: AnyActionHandle?

  public final let action: any Action
  final let queue: ActionQueue
  final let dispatcher: ActionDispatcher
  /// `nil` for a generic action.
  final let entity: EntityDescription?
  /// `nil` for an action that asks for nothing in particular.
  final let terms: ActionTerms?
  final let life: Mutex<ActionLife>

  init(_ action: any Action, in submission: ActionSubmission) {
    self.action = action
    queue = submission.queue
    dispatcher = submission.dispatcher
    entity = submission.entity
    terms = submission.terms
    life = Mutex(ActionLife(completions: submission.completions))
  }

  // MARK: State

  public final var state: ActionState { life.withLock { $0.state } }
  public final var completionStatus: ActionCompletionStatus { life.withLock { $0.status } }
  public final var error: (any Error)? { life.withLock { $0.error } }
  public final var statistics: ActionStatistics { life.withLock { $0.statistics } }
  /// Whether the action was asked to end.
  final var hasToEnd: Bool { life.withLock { $0.hasToEnd } }
  final var priority: ActionPriority { terms?.priority ?? .normal }

  public final var progress: Progress { sharedProgress }
  public final var progressUpdates: AsyncStream<ActionProgress> { sharedProgress.updates() }

  /// Made when it is first asked for: most actions do without.
  private final var sharedProgress: SharedProgress {
    life.withLock { life in
      if let progress = life.progress { return progress }
      let progress = SharedProgress(of: life) { [weak self] in self?.cancel() }
      life.progress = progress
      return progress
    }
  }

  // MARK: Waiting

  public final func waitUntilFinished() async throws {
    if state == .finished { return }
    let waiter = Self.executing
    try waiter.map { try WaitGraph.begin($0, for: [self]) }
    defer { if let waiter { WaitGraph.end(waiter, for: [self]) } }
    let wait = FinishWait()
    defer { life.withLock { $0.waits[ObjectIdentifier(wait)] = nil } }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        wait.begin(continuation)
        join(wait)
      }
    } onCancel: {
      wait.end(.failure(CancellationError()))
    }
  }

  /// Ends a wait once the action finished: at once, if it did already.
  private final func join(_ wait: FinishWait) {
    let isFinished = life.withLock { life in
      if life.state != .finished { life.waits[ObjectIdentifier(wait)] = wait }
      return life.state == .finished
    }
    if isFinished { wait.end(.success(())) }
  }

  /// Calls a block once the action finished: at once, if it did already.
  final func whenFinished(_ block: @escaping @Sendable () -> Void) {
    let isFinished = life.withLock { life in
      if life.state != .finished { life.observers.append(block) }
      return life.state == .finished
    }
    if isFinished { block() }
  }

  // MARK: Running

  /// Whether the work needs a thread of its own.
  var mayBlock: Bool { true }

  /// Does the work once.
  ///
  /// - Returns: How long it took, in nanoseconds; `nil` when it ends later, and says so to the lane by itself.
  func attempt(inLane lane: Int) -> UInt64? { preconditionFailure("Only handles with a result are made.") }
}
