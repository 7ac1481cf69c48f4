import CoherenceCore
public import CoherenceStrategies
import Foundation
import Synchronization

/// Runs the persisted actions of a container's stores, together with other workers in this and other processes.
///
/// ```swift
/// let worker = try PersistedActionWorker(container, actions: [SendInvoice.self])
/// try await worker.start()
/// …
/// await worker.stop(.drain, within: .seconds(20))
/// ```
///
/// A worker waits for signals of saves and for the next due date, and does no work in between. One worker claims each
/// action, and sends heartbeats while it has actions. When the heartbeats stop, another worker takes the actions over
/// and runs them again; the first worker can no longer complete them.
///
/// May be used from any thread. If a worker is released without a stop, other workers take its actions over.
public final class PersistedActionWorker: Sendable {
  private let engine: WorkerEngine
  private let lifecycle = Mutex(Lifecycle())

  private struct Lifecycle {
    var isStarted = false
    var listeners: [Task<Void, Never>] = []

    /// Takes the listeners, which the caller cancels; `nil` for a stopped worker.
    mutating func end() -> [Task<Void, Never>]? {
      guard isStarted else { return nil }
      defer { self = Lifecycle() }
      return listeners
    }
  }

  /// Makes a worker, which neither reads nor runs anything before ``start()`` or ``runDueActions()``.
  ///
  /// - Parameters:
  ///   - container: The container, or the `Connect`, whose stores have the actions. Retained until the worker is released.
  ///   - actions: The types of the actions that the worker can run.
  ///   - schedules: The schedules whose records the worker inserts and updates when it starts.
  ///   - options: The limits.
  ///   - clock: The clock of leases and due dates.
  /// - Throws: ``ErrorCode/invalidModel`` for a model without `addingPersistedActions()`; ``ErrorCode/illegalState``
  ///   for two actions or two schedules with one name, and for a schedule whose action is missing in `actions`.
  public init(
    _ container: any PersistentContainer, actions: [any PersistedAction.Type], schedules: [PersistedSchedule] = [],
    options: PersistedActionOptions = PersistedActionOptions(), clock: PersistedActionClock = .system
  ) throws {
    let entity = try container.managedObjectModel.persistedActionEntity()
    let repository = WorkerRepository(
      actions: ActionRepository(coordinator: container.persistentStoreCoordinator, entity: entity),
      catalog: try ActionCatalog(actions, schedules: schedules), worker: UUID(), workerName: options.workerName,
      retention: options.retention, queues: options.queues.map(\.name),
      leavesUnknownActions: options.unknownActions == .leave)
    engine = WorkerEngine(container: container, repository: repository, options: options, clock: clock)
  }

  deinit {
    for listener in lifecycle.withLock({ $0.listeners }) { listener.cancel() }
    engine.wakeSignal.finish()
  }

  // MARK: Running

  /// Starts the worker: inserts and updates the records of its schedules, and runs due actions from now on. Does
  /// nothing for a started worker.
  ///
  /// - Throws: Errors of the store. The worker is stopped then.
  public func start() async throws {
    let isFirst = lifecycle.withLock { lifecycle in
      guard !lifecycle.isStarted else { return false }
      lifecycle.isStarted = true
      // In one step with the start: a stop during the start finds the listeners.
      lifecycle.listeners = makeListeners()
      return true
    }
    guard isFirst else { return }
    do {
      try await engine.start()
    } catch {
      for listener in lifecycle.withLock({ $0.end() }) ?? [] { listener.cancel() }
      throw error
    }
  }

  private func makeListeners() -> [Task<Void, Never>] {
    let coordinator = engine.repository.coordinator
    let due = coordinator.signals(ActionChannel.due)
    let cancel = coordinator.signals(ActionChannel.cancel)
    // The tasks must not retain the worker, whose `deinit` cancels them.
    let engine = engine
    return [
      Task.detached { for await _ in due { engine.wakeSignal.send() } },
      Task.detached { for await _ in cancel { await engine.checkCancellations() } },
    ]
  }

  /// Stops the worker. Claimed actions without an attempt wait for other workers. Does nothing for a stopped worker.
  ///
  /// Waits for the running actions, also for an action that ignores its cancellation. If the store cannot save their
  /// ends, the stop completes nevertheless; other workers run the actions again after their leases have expired.
  ///
  /// - Parameters:
  ///   - mode: The treatment of running actions.
  ///   - limit: The time after which a draining stop cancels the running actions and hands them back; `nil` for no
  ///     limit.
  public func stop(_ mode: PersistedActionStop = .drain, within limit: Duration? = nil) async {
    guard let listeners = lifecycle.withLock({ $0.end() }) else { return }
    // A user can still cancel an action while the stop drains it, so the listeners end last.
    await engine.stop(mode, within: limit)
    for listener in listeners { listener.cancel() }
  }

  /// Runs the due actions, and actions that these enqueue, until no action is due. For tests, for command lines, and
  /// for the short time that a system grants a program in the background.
  ///
  /// - Returns: The number of attempts.
  /// - Throws: ``ErrorCode/illegalState`` for a started worker; errors of the store.
  @discardableResult
  public func runDueActions() async throws -> Int { try await engine.runDueActions() }

  // MARK: Watching

  /// A new stream of the events from now on. A stream buffers all events for a slow reader. If the container is a
  /// `Connect`, its stream `Connect.events` has the events too, as `ConnectEvent.work`.
  public var events: AsyncStream<PersistedActionEvent> { engine.events.makeStream() }

  /// The counts of the worker's work so far.
  public var statistics: PersistedActionStatistics { engine.counters.withLock { $0 } }
}

/// The treatment of running actions when a ``PersistedActionWorker`` stops.
public enum PersistedActionStop: Sendable, Hashable {
  /// The running actions run to their end.
  case drain
  /// The running actions are cancelled, and wait for other workers. Their present attempts do not count.
  case handBack
}
