import CoherenceCore
public import Foundation
import Synchronization

/// The handle of an action with any type of result: an ``ActionHandle`` without the value.
///
/// May be used from any thread. After the end of its action a handle retains neither the Connect nor its stores.
public class AnyActionHandle: ActionProxy, @unchecked Sendable {
  // Sendable: every property is immutable, or behind the mutex; the compiler cannot check a non-final class.

  /// The handle of the action that the current thread or task executes; `nil` outside of actions.
  ///
  /// A task that an action makes with `Task { }` or in a task group is part of the action. A task made with
  /// `Task.detached` is not.
  public static var current: AnyActionHandle? { executing }
  @TaskLocal static var executing: AnyActionHandle?

  public final let action: any Action
  final let queue: ActionQueue<AnyActionHandle>
  final let scheduler: any ActionScheduler
  /// The entity of an entity action; `nil` for a generic action.
  final let entity: EntityDescription?
  /// The options of the submission; `nil` for the default options.
  final let resolvedOptions: ResolvedOptions?
  final let lifecycle: Mutex<LifecycleState<ActionCompletion>>

  /// The properties of a handle beside its action, as the dispatcher sets them for a submission.
  struct Configuration {
    let queue: ActionQueue<AnyActionHandle>
    let scheduler: any ActionScheduler
    let entity: EntityDescription?
    let resolvedOptions: ResolvedOptions?
    let completion: ActionCompletion?
  }

  init(_ action: any Action, _ configuration: Configuration) {
    self.action = action
    queue = configuration.queue
    scheduler = configuration.scheduler
    entity = configuration.entity
    resolvedOptions = configuration.resolvedOptions
    lifecycle = Mutex(LifecycleState(completions: configuration.completion.map { [$0] } ?? []))
  }

  // MARK: State

  public final var state: ActionState { lifecycle.withLock { $0.state } }
  public final var completionStatus: ActionCompletionStatus { lifecycle.withLock { $0.status } }
  public final var error: (any Error)? { lifecycle.withLock { $0.error } }
  public final var statistics: ActionStatistics { lifecycle.withLock { $0.statistics } }
  final var isPending: Bool { state == .pending }
  final var isCanceledOrExpired: Bool { lifecycle.withLock { $0.isCanceledOrExpired } }
  final var priority: ActionPriority { resolvedOptions?.priority ?? .normal }
  final var limit: ConcurrencyLimit? { resolvedOptions?.options.limit }

  public final var progress: Progress { sharedProgress }
  public final var progressUpdates: AsyncStream<ActionProgress> { sharedProgress.updates() }

  /// Made at the first access, because few actions report progress. A cancellation or a timeout before this access has
  /// found no progress to cancel.
  private final var sharedProgress: SharedProgress {
    lifecycle.withLock { lifecycle in
      if let progress = lifecycle.progress { return progress }
      let progress = SharedProgress(state: lifecycle.state, isCanceled: lifecycle.isCanceledOrExpired) { [weak self] in
        self?.cancel()
      }
      lifecycle.progress = progress
      return progress
    }
  }

  public final func cancel() { complete(markCanceled()) }

  // MARK: Waiting

  public final func waitUntilFinished() async throws {
    if state == .finished { return }
    let wait = try WaitGraph.Waiter.current?.beginWait(for: [self])
    defer { wait?.end() }
    let waiter = CancellableWait<Void>()
    defer { lifecycle.withLock { $0.waiters[ObjectIdentifier(waiter)] = nil } }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        waiter.suspend(continuation)
        resumeWhenFinished(waiter)
      }
    } onCancel: {
      waiter.resume(with: .failure(CancellationError()))
    }
  }

  /// Resumes a waiter at the end of the action: at once, if the action has finished.
  private final func resumeWhenFinished(_ waiter: CancellableWait<Void>) {
    let isFinished = lifecycle.withLock { lifecycle in
      if lifecycle.state != .finished { lifecycle.waiters[ObjectIdentifier(waiter)] = waiter }
      return lifecycle.state == .finished
    }
    if isFinished { waiter.resume(with: .success(())) }
  }

  /// Calls a block at the end of the action: at once, if the action has finished. The block must not block.
  ///
  /// - Parameter dependent: The action that waits for this one, with at most one block; `nil` for another block.
  final func whenFinished(for dependent: AnyActionHandle? = nil, _ block: @escaping @Sendable () -> Void) {
    let isFinished = lifecycle.withLock { lifecycle in
      if lifecycle.state != .finished { lifecycle.observers.add(for: dependent.map { ObjectIdentifier($0) }, block) }
      return lifecycle.state == .finished
    }
    if isFinished { block() }
  }

  /// Removes the block of an action that waits for this one no longer.
  final func forget(dependent: AnyActionHandle) {
    lifecycle.withLock { $0.observers.remove(for: ObjectIdentifier(dependent)) }
  }

  // MARK: Overridden by the handle with a result

  /// Whether the work needs a thread of its own.
  var mayBlock: Bool { true }

  /// Runs one attempt of a claimed action.
  ///
  /// - Returns: The execution time in nanoseconds; `nil` when the attempt continues in a task, which notifies the queue
  ///   at its end.
  func attempt(inLane lane: Int) -> UInt64? { preconditionFailure("Only handles with a result are made.") }
}

extension AnyActionHandle: QueuedAction, ActionExecution {}
