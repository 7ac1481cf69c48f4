import CoherenceActions
import CoherenceCore
import Foundation

/// The loop that sends the entries of an outbox: it searches and claims entries, calls handlers, and writes the
/// server's decisions to the store.
///
/// Within a forwarder, only the loop reads and writes entries, usually in one transaction for all claims or results of
/// a turn. Handlers run in tasks of their own, which put their results into the messages. With nothing left to do, the
/// loop waits for a message, so that an idle forwarder does nothing.
actor ForwardRunner {
  let outbox: Outbox
  let forwarding: ForwardingState
  let options: ForwardOptions
  nonisolated let messages = ForwardMessages()
  /// The name of this forwarder in its claims.
  let claimant = UUID().uuidString

  /// The claimed edits, by the identifier of the claimed entry.
  var flights: [ManagedObjectID: ForwardFlight] = [:]
  /// The claimed entries of the edits that handlers have received, until the edits are settled.
  var sentHeads: Set<ManagedObjectID> = []
  /// The running calls of handlers, by their numbers.
  var calls: [Int: Task<Void, Never>] = [:]
  /// The number of the next call.
  var nextCall = 0
  /// The calls whose edits are claimed, but whose handlers are not called yet.
  var waitingCalls: [ForwardCall] = []
  /// The results to be written to the store.
  var outcomes: [ForwardOutcome] = []
  /// The claimed entries of the edits whose results the store has refused, until the edits are settled.
  var refusedHeads: Set<ManagedObjectID> = []
  /// Whether the next turn searches without a message, because more entries may be ready.
  var hasMore = false
  /// The sendable records that the last search has found beyond its requests.
  var surplus = OutboxSurplus()
  /// The entries that the last search has left to later searches.
  var backlog = ForwardBacklog()
  /// The reported unreadable records of the log.
  var reportedLogs: Set<ManagedObjectID> = []
  /// The number of failures of the store since the last success.
  var failureCount = 0
  /// The failed stores, while other stores are usable. The failed stores are left out until the end of a delay.
  var failedStores: Set<StoreIdentifier> = []
  /// The number of delays of failed stores since all stores could be read.
  var storeFailureCount = 0
  /// Whether the loop waits for the end of the delay after a failure of the store.
  var isDelayed = false
  /// Holds edits back while the server is unavailable.
  var breaker = CircuitBreaker()
  /// Whether the numbers of entries may have changed since the last report of them.
  var needsMeasurement = true
  /// The number of transactions of settlements in each store until the next one that deletes expired confirmations
  /// first.
  var settlementsUntilPruning: [StoreIdentifier?: Int] = [:]
  /// The time of the last report of the numbers of entries.
  var lastMeasurement: ContinuousClock.Instant?

  /// Whether no call may start, as the last turn has found; see ``isHeldBack``.
  private(set) var isPaused = false
  /// Whether the network was online at the last turn.
  private var wasOnline = true
  /// Whether the last search has found nothing to send, so that ``OutboxEvent/idle`` was sent.
  private var isIdle = false
  /// Asks for a search at the earliest next attempt or end of a foreign lease.
  private var dueTimer: Task<Void, Never>?
  /// Asks for renewals of the leases while edits are claimed.
  private var renewalTimer: Task<Void, Never>?
  /// Ends the delay after a failure of the store; see ``isDelayed``.
  private var delayTimer: Task<Void, Never>?
  /// Ends the delay during which ``failedStores`` are left out.
  private var storeTimer: Task<Void, Never>?
  /// Asks for a search while a flush waits for other forwarders; `nil` after its end.
  private var watchTimer: Task<Void, Never>?
  /// The delay of the next ``watchTimer``, which doubles from timer to timer.
  private var watchDelay = ForwardRunner.firstWatchDelay

  init(outbox: Outbox, forwarding: ForwardingState, options: ForwardOptions) {
    self.outbox = outbox
    self.forwarding = forwarding
    self.options = options
  }

  /// Runs the loop until the forwarder is stopped.
  func run() async {
    forwarding.send(.started)
    let listeners = makeListeners()
    while await turn() {}
    let timers = [dueTimer, renewalTimer, delayTimer, storeTimer, watchTimer].compactMap { $0 }
    for task in listeners + timers { task.cancel() }
    for call in calls.values { call.cancel() }
    forwarding.ended(messages)
    messages.close()
    forwarding.send(.stopped)
    forwarding.startNext(after: messages)
  }

  // MARK: Turns

  /// Handles the messages, and waits for another message unless more work is left.
  ///
  /// - Returns: Whether another turn follows.
  private func turn() async -> Bool {
    let unread = messages.take()
    if unread.mode == .crashed { return false }
    receive(unread.outcomes)
    for call in unread.endedCalls { calls[call] = nil }
    updatePause(wasOffline: unread.wasOffline)
    if unread.hasNewFlush, !isPaused { endOutageDelay() }
    if isPaused || unread.mode != .running { releaseWaitingCalls() } else { startWaitingCalls() }
    if unread.delayEnded { isDelayed = false }
    if unread.storeDelayEnded { endStoreDelay() }
    if unread.watchEnded { watchTimer = nil }
    if unread.needsRenewal, !isDelayed, !flights.isEmpty { await renewLeases() }
    if hasWritableOutcomes(in: unread.mode) {
      await acknowledge()
      if messages.hasCrashed { return false }
      // The messages of the time of the transaction are taken before the search.
      if unread.mode == .running { return true }
    }
    switch unread.mode {
    case .crashed: return false
    case .canceling:
      for call in calls.values { call.cancel() }
      if calls.isEmpty, hasNoOutcomes { return false }
    case .draining: if calls.isEmpty, hasNoOutcomes { return false }
    case .running: if await search(unread) { return true }
    }
    setRenewalTimer()
    await messages.wait()
    return true
  }

  /// Whether a stopping forwarder can end: every result is written, or a store has failed. The leases of unwritten
  /// results expire.
  private var hasNoOutcomes: Bool { outcomes.isEmpty || failureCount > 0 || !failedStores.isEmpty }

  /// Whether results can be written. A stopping forwarder waits for no delay after a failure.
  private func hasWritableOutcomes(in mode: ForwardMessages.Mode) -> Bool {
    guard mode == .running else { return !outcomes.isEmpty }
    return !isDelayed && outcomes.contains { !isLeftOut($0.flight.head) }
  }

  /// Searches for ready entries if a search is due, and ends the flushes if nothing is left to send.
  ///
  /// - Returns: Whether another turn follows at once.
  private func search(_ unread: ForwardMessages.Unread) async -> Bool {
    guard !isDelayed else { return false }
    if !isPaused, unread.needsSearch || hasMore, wantsCalls {
      messages.beginSearch()
      hasMore = false
      needsMeasurement = true
      await startReadyCalls()
      if isDelayed || messages.hasCrashed { return messages.hasCrashed }
      setDueTimer()
      // Another forwarder has claimed some of the entries first, or not all entries are read.
      if hasMore, wantsCalls { return true }
    }
    // A save may have added entries, which no search counts during a pause.
    if isPaused, unread.needsSearch { needsMeasurement = true }
    await measureIfDue()
    // A flush waits for the edits of a failed store. The flush also waits for the next attempt of an edit, unless an
    // edit has used up its attempts during an outage.
    guard isPaused || failedStores.isEmpty, flights.isEmpty,
      isPaused || !breaker.exhausted.isEmpty || backlog.nextAttempt == nil
    else {
      isIdle = false
      return false
    }
    let left = isPaused ? nil : backlog.counts?.total
    if messages.endFlushes(isPaused: isPaused, othersSend: backlog.nextLeaseEnd != nil, left: left, { isHeldBack }),
      !isPaused
    {
      let wasIdle = isIdle
      isIdle = backlog.nextAttempt == nil
      if isIdle, !wasIdle { forwarding.send(.idle) }
    }
    setWatchTimer()
    return false
  }

  /// Whether a search is worth its cost: less than half of the ``ForwardOptions/lookahead`` is still waiting.
  private var wantsCalls: Bool {
    calls.count + waitingCalls.count < options.concurrency + options.lookahead / 2
  }

  // MARK: Pauses

  private var isConnectSuspended: Bool { (outbox.container as? any Connect)?.suspended ?? false }

  /// Whether the outbox, its Connect or the network forbids sending at the moment.
  private var isHeldBack: Bool { forwarding.isPaused || isConnectSuspended || !options.connectivity.isOnline }

  /// - Parameter wasOffline: Whether the network was offline since the last turn.
  private func updatePause(wasOffline: Bool) {
    let isOnline = options.connectivity.isOnline
    if isOnline, wasOffline || !wasOnline { endOutageDelay() }
    wasOnline = isOnline
    let isPaused = isHeldBack
    guard isPaused != self.isPaused else { return }
    self.isPaused = isPaused
    forwarding.send(isPaused ? .paused : .resumed)
    if !isPaused { hasMore = true }
  }

  /// Starts the tasks that turn signals of the store and changes of the network and the Connect into messages.
  private func makeListeners() -> [Task<Void, Never>] {
    let messages = messages
    let changes = options.connectivity.changes
    var listeners = [
      Task.detached { for await isOnline in changes { messages.noteConnectivity(isOnline: isOnline) } }
    ]
    // A save sends a signal to all processes if it may make an entry ready: the save of an edit, of a merge with
    // changed entries, and of a retried, edited or dropped entry. The claims and most settlements of a forwarder send
    // none.
    let signals = outbox.coordinator.signals(OutboxChannel.entries)
    listeners.append(Task.detached { for await _ in signals { messages.requestSearch() } })
    if let suspensions = (outbox.container as? any SuspensionReporting)?.suspensions {
      listeners.append(Task.detached { for await _ in suspensions { messages.requestPauseUpdate() } })
    }
    return listeners
  }

  // MARK: Timers

  /// Sets the timer that asks for a search at the earliest next attempt or end of a foreign lease.
  private func setDueTimer() {
    dueTimer?.cancel()
    dueTimer = nil
    guard let nextDue = backlog.nextDue else { return }
    let now = outbox.options.now
    let delay = min(.seconds(max(0, nextDue.timeIntervalSince(now()))), options.longestLease)
    dueTimer = Task.detached { [clock = options.clock, messages] in
      var remaining = delay
      repeat {
        let pause = min(remaining, Self.longestSleep)
        guard (try? await clock.sleep(for: pause)) != nil else { return }
        // The clock measures durations, so that it does not notice when the date of the system is set forward.
        remaining = min(remaining - pause, .seconds(nextDue.timeIntervalSince(now())))
      } while remaining > .zero
      messages.requestSearch()
    }
  }

  /// The longest time until a waiting forwarder notices that the date of the system was set forward.
  private static let longestSleep = Duration.seconds(60)

  /// Sets the timer that asks for a search while a flush waits for other forwarders, most of whose settlements send no
  /// signal.
  private func setWatchTimer() {
    guard messages.hasFlushes, backlog.nextLeaseEnd != nil else {
      watchTimer?.cancel()
      (watchTimer, watchDelay) = (nil, Self.firstWatchDelay)
      return
    }
    guard watchTimer == nil else { return }
    watchTimer = timer(watchDelay) { $0.endWatch() }
    watchDelay = min(watchDelay * 2, Self.longestWatchDelay)
  }

  private static let firstWatchDelay = Duration.milliseconds(50)
  private static let longestWatchDelay = Duration.seconds(1)

  /// Runs a timer that asks for renewals of the leases while edits are claimed.
  private func setRenewalTimer() {
    if flights.isEmpty {
      renewalTimer?.cancel()
      renewalTimer = nil
    } else if renewalTimer == nil {
      renewalTimer = Task.detached { [clock = options.clock, pause = options.leaseDuration / 3, messages] in
        while (try? await clock.sleep(for: pause)) != nil { messages.requestRenewal() }
      }
    }
  }

  /// Reports a failure of the store, and starts the delay before the next access.
  func delay(after error: any Error) {
    failureCount += 1
    isDelayed = true
    forwarding.send(.failed(error))
    let delay = options.retry.delay(afterAttempt: failureCount)
    delayTimer?.cancel()
    delayTimer = timer(delay) { $0.endDelay() }
  }

  /// Starts the delay before the next access to the failed stores.
  func startStoreTimer(_ delay: Duration) {
    storeTimer?.cancel()
    storeTimer = timer(delay) { $0.endStoreDelay() }
  }

  private func timer(_ delay: Duration, _ action: @escaping @Sendable (ForwardMessages) -> Void) -> Task<Void, Never> {
    Task.detached { [clock = options.clock, messages] in
      guard (try? await clock.sleep(for: delay.limitedForSleep)) != nil else { return }
      action(messages)
    }
  }
}
