import CoherenceCore
import Foundation
import Synchronization

// The rounds of a started worker: reading the store for due actions, claiming them, and setting the timer.

extension WorkerEngine {
  /// The longest wait for a due date. The worker reads the date at least this often, because a user can set it forward.
  private static let longestSleep = Duration.seconds(60)
  private static let delayAfterError = Duration.seconds(1)
  private static let pruningInterval = Duration.seconds(600)

  /// Claims actions until the worker has no room, or no action waits.
  ///
  /// - Returns: Whether another round may follow.
  func round() async -> Bool {
    guard phase == .started else { return false }
    do {
      let reasons = wakeSignal.takeReasons()
      var othersMayClaim = reasons.othersMayClaim
      var failure: (any Error)?
      if reasons.mustReadStore {
        do {
          if try await readStore() { othersMayClaim = true }
        } catch {
          // A store that fails keeps no action of another store from its claim.
          guard repository.coordinator.persistentStores.count > 1 else { throw error }
          failure = error
        }
      }
      while phase == .started, !allWaitingClaimed, hasRoom {
        let pass = await claimPass()
        failure = failure ?? pass.failure
        if pass.count == 0 { break }
        othersMayClaim = true
      }
      // Other workers may claim actions after this round has read their claims. Only a later read can show that such a
      // worker has stopped, so the timer must be set for it.
      if othersMayClaim { claimObservation.expectClaims() }
      if let failure { throw failure }
      setTimer()
    } catch let error where ErrorCode.contextWithoutStore ~= error || ErrorCode.noStore ~= error {
      // Without a store nothing is due. The stream of signals has an element when a store is attached.
      allWaitingClaimed = false
    } catch {
      log("The store of persisted actions cannot be read; the worker tries again.", error)
      allWaitingClaimed = false
      setTimer(atMost: Self.delayAfterError)
    }
    return phase == .started
  }

  /// Whether a claim is worth its transaction: a slot is free, or half of the actions claimed in advance have ended.
  private var hasRoom: Bool {
    let room = pacing.capacity - outstanding
    return room > 0 && (room > pacing.ahead / 2 || running.count + buffer.count < pacing.concurrency)
  }

  // MARK: Reading the store

  /// Reads the store: moves due actions to the waiting state, and takes over the actions of stopped workers. Also
  /// prunes finished actions and reports the numbers of actions, each after its interval, and updates the schedules
  /// after a store was attached or detached, after the date of the system was set back, and after the end of a run
  /// that has kept its properties.
  ///
  /// - Returns: Whether this worker or another worker has moved the action with the earliest due date.
  @discardableResult
  func readStore() async throws -> Bool {
    allWaitingClaimed = false
    counters.withLock { $0.looks += 1 }
    let formerDueDate = nextDueDate
    var failure: (any Error)?
    do { try await updateSchedulesIfNeeded() } catch { failure = error }
    let promotion = await repository.promoteScheduled(at: clock.date())
    nextDueDate = promotion.nextDueDate
    var readable = repository
    if let error = promotion.failure {
      guard let stores = await repository.readableStores() else { throw failure ?? error }
      failure = failure ?? error
      readable = repository.limited(to: stores)
    }
    if isObservationDue { try await observeOthers(in: readable) } else { claimObservation.expectClaims() }
    try await pruneIfDue(in: readable)
    await measureIfDue()
    if let failure { throw failure }
    guard let formerDueDate else { return false }
    return nextDueDate.map { $0 > formerDueDate } ?? true
  }

  private var observationInterval: Duration { options.leaseLength / 2 }

  private var isObservationDue: Bool {
    claimObservation.lastRead.map { clock.elapsed() - $0 >= observationInterval } ?? true
  }

  /// The tokens of the claims that this worker retains.
  private var ownLeases: Set<UUID> {
    Set(buffer.map(\.lease) + running.values.map(\.claim.lease) + (ended + saving).map(\.claim.lease))
  }

  /// Reads the claims and records of the other workers. Takes over the actions of stopped workers, and deletes the
  /// records of stopped workers without actions.
  private func observeOthers(in repository: WorkerRepository) async throws {
    let claims = try await repository.observedClaims(except: ownLeases)
    let expiredClaims = claimObservation.note(claims, at: clock.elapsed(), leaseLength: options.leaseLength)
    if !expiredClaims.isEmpty {
      publish(try await repository.rescue(expiredClaims, at: clock.date()))
      claimObservation.remove(expiredClaims)
    }
    let silentWorkers = workerObservation.note(
      try await repository.idleWorkers(), at: clock.elapsed(), leaseLength: options.leaseLength)
    if !silentWorkers.isEmpty { try await repository.deleteIdleWorkers(silentWorkers) }
  }

  private func pruneIfDue(in repository: WorkerRepository) async throws {
    let now = clock.elapsed()
    if let lastPruning, now - lastPruning < Self.pruningInterval { return }
    lastPruning = now
    try await repository.actions.prune(repository.retention, at: clock.date())
  }

  // MARK: Claiming

  /// Claims from each queue once. Each pass begins with the next queue, so that no queue is always served last. The
  /// claim from a queue without waiting actions reports the failure of a store; the other queues are served too.
  ///
  /// - Returns: The number of claimed actions, and the first error.
  func claimPass() async -> (count: Int, failure: (any Error)?) {
    var count = 0
    var failure: (any Error)?
    var allWaitingClaimed = true
    let queues = options.queues.indices.map { options.queues[($0 + firstQueue) % options.queues.count] }
    firstQueue = (firstQueue + 1) % options.queues.count
    for (index, queue) in queues.enumerated() {
      let room = max(0, pacing.capacity - outstanding)
      // Each remaining queue gets an equal share of the room.
      let remaining = queues.count - index
      let limit = min((room + remaining - 1) / remaining, roomLeft(in: queue))
      guard limit > 0 else {
        allWaitingClaimed = false
        continue
      }
      do {
        let claims = try await claim(from: queue, limit: limit)
        count += claims.count
        if claims.count == limit { allWaitingClaimed = false }
      } catch {
        failure = failure ?? error
        allWaitingClaimed = false
      }
    }
    self.allWaitingClaimed = allWaitingClaimed
    return (count, failure)
  }

  private func claim(from queue: PersistedActionQueue, limit: Int) async throws -> [ActionClaim] {
    let claims = try await repository.claim(from: queue.name, limit: limit, lease: .random(), at: clock.date())
    counters.withLock { counters in
      counters.claims += 1
      counters.claimedActions += claims.count
    }
    guard phase == .started || phase == .inline else {
      await handBack(claims)
      return []
    }
    guard !claims.isEmpty else { return [] }
    buffer = claims.reversed() + buffer
    startBeating()
    startSlots()
    return claims
  }

  /// The number of actions that the queue's own limit still admits.
  private func roomLeft(in queue: PersistedActionQueue) -> Int {
    guard let limit = queue.concurrency else { return .max }
    let count =
      buffer.count { $0.queue == queue.name } + running.values.count { $0.claim.queue == queue.name }
    return max(0, limit - count)
  }

  // MARK: The timer

  /// Sets the timer to the next time at which the worker has to read the store without a signal: a due date, or the
  /// next observation of other workers. Sets no timer if the worker expects neither.
  ///
  /// - Parameter limit: The longest delay, for the retry after an error; `nil` otherwise.
  private func setTimer(atMost limit: Duration? = nil) {
    timer?.cancel()
    timer = nil
    var delays: [Duration] = limit.map { [$0] } ?? []
    if let nextDueDate {
      let delay = Duration.seconds(nextDueDate.timeIntervalSince(clock.date()))
      delays.append(min(max(delay, .zero), Self.longestSleep))
    }
    if let lastRead = claimObservation.lastRead, claimObservation.needsRead {
      delays.append(max(.zero, lastRead + observationInterval - clock.elapsed()))
    }
    guard phase == .started, let delay = delays.min() else { return }
    // After an error, the events that started the failed round are not processed yet.
    let othersMayClaim = limit != nil
    timer = Task { [clock, wakeSignal] in
      guard (try? await clock.sleep(delay)) != nil else { return }
      wakeSignal.send(othersMayClaim: othersMayClaim)
    }
  }
}
