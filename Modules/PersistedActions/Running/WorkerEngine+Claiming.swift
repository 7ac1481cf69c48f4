import CoherenceCore
import Foundation
import Synchronization

// The rounds of a started worker: looking at the store, claiming, and the timer until the next look.

extension WorkerEngine {
  /// A date that was set forward is noticed within this time while actions are scheduled.
  private static let longestSleep = Duration.seconds(60)
  private static let delayAfterError = Duration.seconds(1)
  private static let pruningInterval = Duration.seconds(600)

  /// Claims actions until the worker is full, or no action waits.
  ///
  /// - Returns: Whether another round may follow.
  func round() async -> Bool {
    guard phase == .started else { return false }
    do {
      let rings = bell.takeRings()
      var hasNews = rings.hasNews
      if rings.mustLook, try await look() { hasNews = true }
      while phase == .started, !isDry, hasRoom {
        if try await claimPass() == 0 { break }
        hasNews = true
      }
      // Others claim behind the look of this round. Without another look, nothing would tell that they have stopped.
      if hasNews { observation.expectClaims() }
      setTimer()
    } catch {
      log("The store of persisted actions cannot be read; the worker tries again.", error)
      isDry = false
      setTimer(atMost: Self.delayAfterError)
    }
    return phase == .started
  }

  /// Whether a claim is worth its transaction: a slot has nothing to do, or half of the actions that are claimed ahead
  /// have ended.
  private var hasRoom: Bool {
    let room = pacing.capacity - outstanding
    return room > 0 && (room > pacing.ahead / 2 || running.count + buffer.count < pacing.concurrency)
  }

  // MARK: Looking

  /// Has scheduled actions wait whose dates are reached, and rescues actions of stopped workers.
  ///
  /// - Returns: Whether the first date of scheduled actions was reached, for this worker or another one.
  @discardableResult
  func look() async throws -> Bool {
    isDry = false
    counters.withLock { $0.looks += 1 }
    let formerDueDate = nextDueDate
    nextDueDate = try await ledger.promoteScheduled(at: clock.date())
    if isObservationDue { try await observeOthers() } else { observation.expectClaims() }
    try await pruneIfDue()
    await measureIfDue()
    guard let formerDueDate else { return false }
    return nextDueDate.map { $0 > formerDueDate } ?? true
  }

  private var observationInterval: Duration { options.leaseLength / 2 }

  private var isObservationDue: Bool {
    observation.lastLook.map { clock.elapsed() - $0 >= observationInterval } ?? true
  }

  /// The claims that this worker knows as its own.
  private var knownLeases: Set<UUID> {
    Set(buffer.map(\.lease) + running.values.map(\.claim.lease) + (ended + saving).map(\.claim.lease))
  }

  private func observeOthers() async throws {
    let leases = try await ledger.observedLeases(except: knownLeases)
    let stopped = observation.note(leases, at: clock.elapsed(), leaseLength: options.leaseLength)
    if !stopped.isEmpty {
      publish(try await ledger.rescue(stopped, at: clock.date()))
      observation.remove(stopped)
    }
    let silent = workerObservation.note(
      try await ledger.idleWorkers(), at: clock.elapsed(), leaseLength: options.leaseLength)
    if !silent.isEmpty { try await ledger.forget(silent) }
  }

  private func pruneIfDue() async throws {
    let now = clock.elapsed()
    if let lastPruning, now - lastPruning < Self.pruningInterval { return }
    lastPruning = now
    try await ledger.prune(at: clock.date())
  }

  // MARK: Claiming

  /// Claims from each queue once, beginning with another queue each time, so that no queue waits behind another.
  ///
  /// - Returns: The number of claimed actions.
  func claimPass() async throws -> Int {
    var count = 0
    var isDry = true
    let queues = options.queues.indices.map { options.queues[($0 + firstQueue) % options.queues.count] }
    firstQueue = (firstQueue + 1) % options.queues.count
    for (index, queue) in queues.enumerated() {
      let room = max(0, pacing.capacity - outstanding)
      // An equal share of the room for each queue that is still to come.
      let remaining = queues.count - index
      let limit = min((room + remaining - 1) / remaining, roomLeft(in: queue))
      guard limit > 0 else {
        isDry = false
        continue
      }
      let claims = try await claim(from: queue, limit: limit)
      count += claims.count
      if claims.count == limit { isDry = false }
    }
    self.isDry = isDry
    return count
  }

  private func claim(from queue: PersistedActionQueue, limit: Int) async throws -> [ActionClaim] {
    let claims = try await ledger.claim(from: queue.name, limit: limit, lease: UUID(), at: clock.date())
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

  /// The number of actions that the queue's own limit admits.
  private func roomLeft(in queue: PersistedActionQueue) -> Int {
    guard let limit = queue.concurrency else { return .max }
    let count =
      buffer.count { $0.queue == queue.name } + running.values.count { $0.claim.queue == queue.name }
    return max(0, limit - count)
  }

  // MARK: The timer

  /// Sets the timer to the next date at which the worker has to look by itself; no timer without such a date.
  private func setTimer(atMost limit: Duration? = nil) {
    timer?.cancel()
    timer = nil
    var delays: [Duration] = limit.map { [$0] } ?? []
    if let nextDueDate {
      let delay = Duration.seconds(nextDueDate.timeIntervalSince(clock.date()))
      delays.append(min(max(delay, .zero), Self.longestSleep))
    }
    if let lastLook = observation.lastLook, observation.needsLook {
      delays.append(max(.zero, lastLook + observationInterval - clock.elapsed()))
    }
    guard phase == .started, let delay = delays.min() else { return }
    // A round that has failed was rung for a reason that still stands.
    let isNews = limit != nil
    timer = Task { [clock, bell] in
      guard (try? await clock.sleep(delay)) != nil else { return }
      bell.ring(isNews: isNews)
    }
  }
}
