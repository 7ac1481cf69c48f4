import CoherenceCore
public import CoherenceStrategies
import Foundation
import Synchronization

/// Runs the persisted actions of a container's stores, beside any number of other workers in this and other processes.
///
/// ```swift
/// let worker = try PersistedActionWorker(container, actions: [SendInvoice.self])
/// try await worker.start()
/// …
/// await worker.stop(.drain, within: .seconds(20))
/// ```
///
/// A worker waits for signals of saves and for the next due date, and does no work in between. Each action is claimed by
/// one worker, which gives signs of life while it has actions. When the signs stop, another worker runs the actions
/// again; a worker that comes back later cannot complete an action that was taken over.
///
/// May be used from any thread. A worker that is released without a stop leaves its actions to other workers.
public final class PersistedActionWorker: Sendable {
  private let engine: WorkerEngine
  private let lifecycle = Mutex(Lifecycle())

  private struct Lifecycle {
    var isStarted = false
    var listeners: [Task<Void, Never>] = []
  }

  /// Makes a worker. Nothing is read or run before ``start()`` or ``runDueActions()``.
  ///
  /// - Parameters:
  ///   - container: The container, or the `Connect`, whose stores have the actions. Retained until the worker is released.
  ///   - actions: The types of the actions that the worker can run.
  ///   - schedules: The schedules that the worker keeps going.
  ///   - options: The limits.
  ///   - clock: The clock of leases and due dates.
  /// - Throws: ``ErrorCode/invalidModel`` for a model without `addingPersistedActions()`; ``ErrorCode/illegalState`` for
  ///   two actions or two schedules with one name, and for a schedule of an action that is not listed.
  public init(
    _ container: any PersistentContainer, actions: [any PersistedAction.Type], schedules: [PersistedSchedule] = [],
    options: PersistedActionOptions = PersistedActionOptions(), clock: PersistedActionClock = .system
  ) throws {
    let ledger = ActionLedger(
      coordinator: container.persistentStoreCoordinator,
      entity: try container.managedObjectModel.persistedActionEntity(),
      catalog: try ActionCatalog(actions, schedules: schedules), worker: UUID(), workerName: options.workerName,
      retention: options.retention, queues: options.queues.map(\.name),
      leavesUnknownActions: options.unknownActions == .leave)
    engine = WorkerEngine(container: container, ledger: ledger, options: options, clock: clock)
  }

  deinit {
    for listener in lifecycle.withLock({ $0.listeners }) { listener.cancel() }
    engine.bell.finish()
  }

  // MARK: Running

  /// Starts the worker: it makes the records of its schedules, and runs due actions from now on. Does nothing for a
  /// started worker.
  ///
  /// - Throws: Errors of the store. The worker is stopped then.
  public func start() async throws {
    let isFirst = lifecycle.withLock { lifecycle in
      defer { lifecycle.isStarted = true }
      return !lifecycle.isStarted
    }
    guard isFirst else { return }
    do {
      try await engine.start()
    } catch {
      lifecycle.withLock { $0.isStarted = false }
      throw error
    }
    let coordinator = engine.ledger.coordinator
    let due = coordinator.signals(ActionChannel.due)
    let cancel = coordinator.signals(ActionChannel.cancel)
    // The tasks retain the engine only: the release of the worker ends them.
    let engine = engine
    let listeners = [
      Task.detached { for await _ in due { engine.bell.ring() } },
      Task.detached { for await _ in cancel { await engine.checkCancellations() } },
    ]
    lifecycle.withLock { $0.listeners = listeners }
  }

  /// Stops the worker. Actions that it has claimed and not begun wait for other workers. Does nothing for a stopped
  /// worker.
  ///
  /// Waits for the running actions: an action that ignores its cancellation keeps the call waiting. When a save of their
  /// ends fails, their leases run out instead, and other workers run them again.
  ///
  /// - Parameters:
  ///   - mode: The treatment of running actions.
  ///   - limit: The time after which a draining stop hands the running actions back; `nil` for no limit.
  public func stop(_ mode: PersistedActionStop = .drain, within limit: Duration? = nil) async {
    let listeners = lifecycle.withLock { lifecycle -> [Task<Void, Never>]? in
      guard lifecycle.isStarted else { return nil }
      lifecycle.isStarted = false
      defer { lifecycle.listeners = [] }
      return lifecycle.listeners
    }
    guard let listeners else { return }
    // The listener of cancellations stays until the end, for the actions that are drained.
    await engine.stop(mode, within: limit)
    for listener in listeners { listener.cancel() }
  }

  /// Runs the due actions, and the actions that become due by them, and returns when none is left. For tests, for command
  /// lines, and for the short time that a system grants a program in the background.
  ///
  /// - Returns: The number of attempts.
  /// - Throws: ``ErrorCode/illegalState`` for a started worker; errors of the store.
  @discardableResult
  public func runDueActions() async throws -> Int { try await engine.runDueActions() }

  // MARK: Watching

  /// A new stream of the events from now on. A stream keeps all events for a slow reader. The events of the worker of a
  /// Connect are in the stream `Connect.events` too, as `ConnectEvent.work`.
  public var events: AsyncStream<PersistedActionEvent> { engine.events.makeStream() }

  /// The counts of the worker's work so far.
  public var statistics: PersistedActionStatistics { engine.counters.withLock { $0 } }
}

/// The treatment of running actions by a stop of a ``PersistedActionWorker``.
public enum PersistedActionStop: Sendable, Hashable {
  /// The running actions run to their end.
  case drain
  /// The running actions are canceled, and wait for other workers. The attempt does not count.
  case handBack
}
