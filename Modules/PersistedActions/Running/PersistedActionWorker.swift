import CoherenceActions
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
/// A worker waits for signals of saves and for the next due date, which it reads again every minute. While other
/// workers have claims, it also observes their heartbeats. Otherwise it does no work in between. One worker claims each
/// action, and sends heartbeats while it has actions. When the heartbeats stop, another worker takes the actions over
/// and runs them again; the first worker can no longer complete them.
///
/// May be used from any thread. If a worker is released without a stop, other workers take its actions over.
public final class PersistedActionWorker: Sendable {
  /// The part of the worker that its tasks retain: they must not retain the worker.
  let engine: WorkerEngine
  private let lifecycle = Mutex(Lifecycle())

  /// The starts and stops that calls have begun, in the order of the calls. The engine is an actor, which may run a
  /// later call first, so that it compares the numbers of the starts.
  private struct Lifecycle {
    /// The number of the present start; `nil` for a stopped worker.
    var start: Int?
    /// The number of starts so far.
    var startCount = 0
    /// The tasks that receive the signals of due actions and of cancellations.
    var listeners: [Task<Void, Never>] = []
    /// The latest stop, which may still run.
    var stop: Task<Void, Never>?

    /// Begins a start, unless the worker is started.
    ///
    /// - Returns: The number of the start; `nil` for a started worker.
    mutating func begin() -> Int? {
      guard start == nil else { return nil }
      startCount += 1
      start = startCount
      return startCount
    }

    /// Ends a start, unless a stop has ended it.
    ///
    /// - Returns: The listeners, which the caller cancels; empty for an ended start.
    mutating func end(_ number: Int) -> [Task<Void, Never>] {
      guard start == number else { return [] }
      defer { (start, listeners) = (nil, []) }
      return listeners
    }
  }

  /// Makes a worker, which neither reads nor runs anything before ``start()`` or ``runDueActions()``.
  ///
  /// - Parameters:
  ///   - container: The container, or the `Connect`, whose stores have the actions. Retained until the worker is
  ///     released.
  ///   - actions: The types of the actions that the worker can run.
  ///   - schedules: The schedules whose records the worker inserts and updates when it starts, and when a store is
  ///     attached later.
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
  /// - Throws: ``ErrorCode/illegalState`` during a stop and during ``runDueActions()``; errors of the store, after
  ///   which the worker is stopped. A store that fails beside other stores does not fail the call.
  public func start() async throws {
    let begun = lifecycle.withLock { lifecycle -> Int? in
      guard let number = lifecycle.begin() else { return nil }
      // In one step with the start: a stop during the start finds the listeners.
      lifecycle.listeners = makeListeners()
      return number
    }
    guard let number = begun else { return }
    do {
      try await engine.start(number) { lifecycle.withLock { $0.start == number } }
    } catch {
      for listener in lifecycle.withLock({ $0.end(number) }) { listener.cancel() }
      throw error
    }
  }

  /// Makes the tasks that pass the signals of all programs with the stores to the engine.
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

  /// Stops the worker. Claimed actions without an attempt wait for other workers. Does nothing for a stopped worker. A
  /// call during a stop waits for the end of that stop, and its mode and time limit hold for that stop too.
  ///
  /// Waits for the running actions, also for an action that ignores its cancellation. If the store cannot save their
  /// ends, the stop completes nevertheless; other workers run the actions again after their leases have expired. A
  /// cancellation of the task changes nothing.
  ///
  /// A call by an action of the worker, by a task that the action has made, or by an action of a `Connect` or a handler of
  /// an outbox that the action waits for, returns at once: the worker stops after the end of the action.
  ///
  /// - Parameters:
  ///   - mode: The treatment of running actions.
  ///   - limit: The time after which a draining stop cancels the running actions and hands them back; `nil` for no
  ///     limit.
  public func stop(_ mode: PersistedActionStop = .drain, within limit: Duration? = nil) async {
    let (number, task) = lifecycle.withLock { lifecycle -> (Int, Task<Void, Never>?) in
      // A refused start during a stop is later than the start that the stop ends.
      guard let number = lifecycle.start else { return (lifecycle.startCount, lifecycle.stop) }
      let listeners = lifecycle.end(number)
      let formerStop = lifecycle.stop
      // A task of its own, because a cancelled task saves nothing, and could not hand actions back.
      let stop = Task { [engine] in
        // The start is refused while the former stop still runs.
        await formerStop?.value
        await engine.stop(ofStart: number)
        // A user can still cancel an action while the stop drains it, so the listeners end last.
        for listener in listeners { listener.cancel() }
      }
      lifecycle.stop = stop
      return (number, stop)
    }
    guard let stop = task else { return }
    if mode == .handBack { await engine.handBackRunning(throughStart: number) }
    let deadline = limit.map { limit in
      Task { [engine] in
        try await engine.clock.sleep(limit)
        await engine.handBackRunning(throughStart: number)
      }
    }
    do {
      guard !engine.attemptsOfWorker.isCurrent else { throw CancellationError() }
      try await engine.attemptsOfWorker.wait { await stop.value }
      deadline?.cancel()
    } catch {
      // A wait of the caller would never end: the stop waits for the calling action, or for an action or a handler that
      // waits for the caller.
      Task {
        await stop.value
        deadline?.cancel()
      }
    }
  }

  /// Runs the due actions, and actions that these enqueue, until no action is due. For tests, for command lines, and
  /// for the short time that a system grants a program in the background.
  ///
  /// - Returns: The number of attempts.
  /// - Throws: ``ErrorCode/illegalState`` for a started worker, during a stop, and during another call;
  ///   ``ErrorCode/deadlock`` in a handler or an action of a `Connect` that a running action of the worker waits for;
  ///   errors of a store, after the due actions of the other stores have run.
  @discardableResult
  public func runDueActions() async throws -> Int {
    // An action of the worker does not wait either: the call is refused.
    if engine.attemptsOfWorker.isCurrent { return try await engine.runDueActions() }
    return try await engine.attemptsOfWorker.wait { try await engine.runDueActions() }
  }

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
