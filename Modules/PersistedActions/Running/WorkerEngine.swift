import CoherenceActions
import CoherenceCore
import CoherenceStrategies
import Foundation
import Logging
import Synchronization

/// The implementation of ``PersistedActionWorker``: claims actions, runs them in concurrent slots, and saves their ends
/// in groups.
///
/// The ``WakeSignal`` wakes the loop, and the loop claims actions. A claimed action is in `buffer` until a slot takes
/// it, in `running` during its attempt, in `ended` until a save begins, and in `saving` during the save.
actor WorkerEngine {
  /// The phase of the worker.
  enum Phase {
    case stopped
    case started
    /// `runDueActions` runs the actions.
    case inline
    case stopping
  }

  nonisolated let repository: WorkerRepository
  nonisolated let wakeSignal = WakeSignal()
  nonisolated let events = Broadcast<PersistedActionEvent>()
  nonisolated let counters = Mutex(PersistedActionStatistics())
  /// The attempts, for whose end a stop waits, as actions may know them.
  nonisolated let attemptsOfWorker = AwaitedWork()
  let container: any PersistentContainer
  /// The container if it is a `Connect`, which publishes the worker's events in its own stream too.
  nonisolated let connect: (any WorkEventPublishing)?
  let options: PersistedActionOptions
  let clock: PersistedActionClock
  let logger: Logger

  var phase = Phase.stopped
  /// The number of the start that has set the phase `started`.
  private var startNumber = 0
  /// The number of the latest start whose stop hands the running actions back, as the stops of earlier starts do.
  private var handedBackStart = 0
  /// Whether a stop has handed back the claimed actions without an attempt, and waits for the running actions. Before,
  /// no running action is cancelled, because a claimed action would begin in its slot.
  private var isDraining = false
  var pacing: ClaimPacing
  /// The claimed actions that wait for a slot, in reverse order.
  var buffer: [ActionClaim] = []
  var running: [ActionClaim.ID: RunningAction] = [:]
  /// The attempts whose ends wait for a save.
  var ended: [EndedAttempt] = []
  /// The attempts whose ends are being saved.
  var saving: [EndedAttempt] = []
  /// The stores in which ends are being saved.
  var savingStores: Set<StoreIdentifier?> = []
  /// The number of slots: tasks that run claimed actions one after the other.
  var slotCount = 0
  /// Whether the last claims have taken all waiting actions. The worker claims again after a signal or a due date.
  var allWaitingClaimed = false
  /// The index of the queue from which the next pass claims first.
  var firstQueue = 0
  /// The callers of `untilIdle`.
  var idleWaiters: [CheckedContinuation<Void, Never>] = []
  var loop: Task<Void, Never>?
  var timer: Task<Void, Never>?
  /// The task that sends heartbeats.
  var beating: Task<Void, Never>?
  /// The latest date at which the schedules were checked or the store was read.
  private var latestDate: Date?
  /// The earliest date of a scheduled action at the last read of the store.
  var nextDueDate: Date?
  var claimObservation = ClaimObservation()
  /// The other workers without an action. A killed worker without an action leaves only its record in the store: no
  /// claim of the worker expires, so only this observation finds the record for its deletion.
  var workerObservation = HeartbeatObservation<ObservedWorker>()
  var lastPruning: Duration?
  /// The schedules whose records could not be updated, because their actions ran or were retried.
  private var outdatedSchedules: [PersistedSchedule] = []
  /// The count of attached and detached stores when the records of the schedules were inserted and updated last.
  private var storeChangeCount: Int?
  /// The time of the last report of the numbers of actions.
  var lastMeasurement: Duration?

  init(
    container: any PersistentContainer, repository: WorkerRepository, options: PersistedActionOptions,
    clock: PersistedActionClock
  ) {
    self.container = container
    connect = container as? any WorkEventPublishing
    self.repository = repository
    self.options = options
    self.clock = clock
    logger = repository.coordinator.logger
    pacing = ClaimPacing(concurrency: options.concurrency, maximum: options.maximumClaimedAhead)
  }

  // MARK: Starting and stopping

  /// Starts the worker; see ``PersistedActionWorker/start()``.
  ///
  /// - Parameters:
  ///   - number: The number of the start.
  ///   - isWanted: Whether no stop has ended the start. An actor may run a later call first, and a stop that runs
  ///     before its start finds nothing to stop.
  func start(_ number: Int, if isWanted: @Sendable () -> Bool) async throws {
    guard isWanted() else { return }
    guard phase == .stopped else {
      throw CoherenceError(.illegalState, "The worker is running due actions, or is stopping; start it afterwards.")
    }
    for schedule in repository.catalog.allSchedules { _ = try schedule.encode() }
    phase = .started
    startNumber = number
    do {
      try await ensureSchedules()
      try await repository.beat(at: clock.date())
    } catch {
      // A store that fails keeps no action of another store from its run. The rounds update the schedules later.
      if await repository.readableStores() == nil {
        // `stop` may have begun, and another start may have followed.
        if phase == .started, startNumber == number { phase = .stopped }
        throw error
      }
      log("A store of persisted actions cannot be used; the worker runs the actions of the other stores.", error)
    }
    // `stop` may have begun and ended during these two saves, and another start may have followed.
    guard phase == .started, startNumber == number, isWanted() else { return }
    allWaitingClaimed = false
    let wakes = wakeSignal.wakes
    wakeSignal.send()
    loop = Task { [weak self] in
      for await _ in wakes {
        guard await self?.round() == true else { return }
      }
    }
  }

  /// Inserts and updates the records of the schedules. When a store fails, updates the records in the other stores.
  private func ensureSchedules() async throws {
    let (date, count) = (clock.date(), repository.coordinator.storeChangeCount)
    let schedules = repository.catalog.allSchedules
    do {
      try await ensure(schedules, in: repository, at: date)
    } catch {
      if !schedules.isEmpty, let stores = await repository.readableStores() {
        try await ensure(schedules, in: repository.limited(to: stores), at: date)
      }
      throw error
    }
    latestDate = date
    storeChangeCount = count
  }

  private func ensure(
    _ schedules: [PersistedSchedule], in repository: WorkerRepository, at date: Date
  ) async throws {
    var outdated: [PersistedSchedule] = []
    for schedule in schedules {
      let isCurrent = try await repository.ensureRecord(of: schedule, at: date)
      if !isCurrent { outdated.append(schedule) }
    }
    outdatedSchedules = outdated
  }

  /// Inserts and updates the records of the schedules if, since the last time, a store was attached or detached, or the
  /// date of the system was set back. Otherwise updates only the records that could not be updated before.
  func updateSchedulesIfNeeded() async throws {
    let date = clock.date()
    let isSetBack = latestDate.map { date.addingTimeInterval(WorkerRepository.clockDifference) < $0 } ?? false
    if isSetBack || storeChangeCount != repository.coordinator.storeChangeCount { return try await ensureSchedules() }
    latestDate = max(latestDate ?? date, date)
    if !outdatedSchedules.isEmpty { try await ensure(outdatedSchedules, in: repository, at: date) }
  }

  /// Stops the worker, and lets the running actions run to their end unless ``handBackRunning(throughStart:)`` is
  /// called; see ``PersistedActionWorker/stop(_:within:)``. Does nothing in any phase but `started`.
  ///
  /// - Parameter number: The number of the start to end. A later start stays.
  func stop(ofStart number: Int) async {
    guard phase == .started, startNumber == number else { return }
    phase = .stopping
    timer?.cancel()
    timer = nil
    // The loop ends by itself instead of being cancelled, so that a claim in progress completes and is handed back.
    wakeSignal.send(readingStore: false)
    await loop?.value
    loop = nil
    await handBackBuffer()
    isDraining = true
    if handedBackStart >= number { handBackRunning() }
    await untilIdle()
    isDraining = false
    await endBeating()
    phase = .stopped
  }

  /// Ends the heartbeats, and deletes their record. Called when the worker has no claimed actions.
  private func endBeating() async {
    beating?.cancel()
    beating = nil
    do {
      try await uncancelled { try await $0.removeWorker() }
    } catch {
      log("The record of a worker could not be deleted; other workers delete it.", error)
    }
  }

  private func handBackBuffer() async {
    let claims = buffer
    buffer = []
    await handBack(claims)
    resumeIdleWaiters()
  }

  /// Moves claimed actions back to the waiting state, for other workers.
  func handBack(_ claims: [ActionClaim]) async {
    let date = clock.date()
    for group in Dictionary(grouping: claims, by: \.recordID.storeIdentifier).values {
      let attempts = group.map { EndedAttempt(claim: $0, outcome: .handedBack, progress: nil, retry: .standard) }
      do {
        publish(try await uncancelled { try await $0.finish(attempts, at: date) })
      } catch {
        log("Claimed actions could not be handed back; other workers run them after their lease.", error)
      }
    }
  }

  /// Changes the store for a caller whose task may be cancelled, in a task of its own: a context performs no block in a
  /// cancelled task. Claims left in the store would wait until the end of their leases, and count as attempts.
  private nonisolated func uncancelled<T: Sendable>(
    _ change: @escaping @Sendable (WorkerRepository) async throws -> T
  ) async throws -> T {
    try await Task { [repository] in try await change(repository) }.value
  }

  /// Has the stops of a start and of the earlier starts hand the running actions back, also a stop that has not begun
  /// yet.
  func handBackRunning(throughStart number: Int) {
    handedBackStart = max(handedBackStart, number)
    if isDraining, startNumber <= number { handBackRunning() }
  }

  /// Cancels the running actions. An action that then ends with an error is handed back.
  private func handBackRunning() {
    for id in running.keys {
      running[id]?.isHandedBack = true
      running[id]?.cancel()
    }
  }

  // MARK: Due actions at once

  /// Runs the due actions; see ``PersistedActionWorker/runDueActions()``.
  func runDueActions() async throws -> Int {
    guard phase == .stopped else {
      throw CoherenceError(
        .illegalState, "A started worker runs due actions by itself; call `runDueActions` of a stopped worker.")
    }
    phase = .inline
    defer { phase = .stopped }
    let before = counters.withLock { $0 }
    let passes: Result<Void, any Error>
    do { passes = .success(try await runPasses()) } catch { passes = .failure(error) }
    // A long action was kept by heartbeats, whose record would look like that of a killed worker.
    if counters.withLock({ $0.beats }) > before.beats { await endBeating() }
    try passes.get()
    return counters.withLock { $0.attempts } - before.attempts
  }

  /// Runs the due actions of the readable stores.
  ///
  /// - Throws: The first error of a store.
  private func runPasses() async throws {
    var failure: (any Error)?
    do { try await ensureSchedules() } catch {
      guard await repository.readableStores() != nil else { throw error }
      failure = error
    }
    var count = 0
    repeat {
      do { try await readStore() } catch {
        guard await repository.readableStores() != nil else { throw error }
        failure = failure ?? error
      }
      let pass = await claimPass()
      (count, failure) = (pass.count, failure ?? pass.failure)
      await untilIdle()
    } while count > 0
    if let failure { throw failure }
    await measure()
  }

  // MARK: Idleness

  /// The number of claimed actions whose ends are not saved yet.
  var outstanding: Int { buffer.count + running.count + ended.count + saving.count }

  private var isIdle: Bool { outstanding == 0 && slotCount == 0 && savingStores.isEmpty }

  private func untilIdle() async {
    guard !isIdle else { return }
    await withCheckedContinuation { idleWaiters.append($0) }
  }

  /// Resumes the callers of `untilIdle` and ends the heartbeats if the worker is idle. Call it after each change that
  /// may make the worker idle.
  func resumeIdleWaiters() {
    guard isIdle else { return }
    beating?.cancel()
    beating = nil
    let waiters = idleWaiters
    idleWaiters = []
    for waiter in waiters { waiter.resume() }
  }

  // MARK: Reporting

  func publish(_ list: [PersistedActionEvent]) {
    for event in list { send(event) }
  }

  nonisolated func send(_ event: PersistedActionEvent) {
    events.send { event }
    connect?.publish { event }
  }

  func log(_ message: String, _ error: any Error) {
    logger.error("\(message)", metadata: ["worker": "\(options.workerName)", "error": "\(error.logText)"])
  }
}
