import CoherenceActions
import CoherenceCore
import Foundation

/// The loop that sends the entries of an outbox: selects, claims, calls handlers, and applies their answers.
///
/// The loop alone reads and writes entries, in one transaction for all edits of a turn. Calls of handlers run beside it
/// and report to the inbox. Between two turns the loop waits for news, so that an idle forwarder does nothing.
actor ForwardRunner {
  let outbox: Outbox
  let desk: ForwardDesk
  let options: ForwardOptions
  nonisolated let inbox = ForwardInbox()
  /// The name in the claims of this forwarder.
  let claimant = UUID().uuidString

  /// The claimed edits, by the identifier of the entry with the claim.
  var flights: [ManagedObjectID: ForwardFlight] = [:]
  /// The edits that handlers got and that are not acknowledged yet, by the entry with the claim.
  var sent: Set<ManagedObjectID> = []
  /// The running calls of handlers.
  var calls: [Int: Task<Void, Never>] = [:]
  var nextCall = 0
  /// The calls with edits that are claimed ahead.
  var waitingCalls: [ForwardCall] = []
  /// The results that are not applied yet.
  var outcomes: [ForwardOutcome] = []
  /// The server's values of conflicts that are sent again, by the entry with the claim.
  var serverValues: [ManagedObjectID: [String: AttributeValue]] = [:]
  /// Whether more entries are ready than the last search could start.
  var hasMore = false
  /// The entries that the last search has left.
  var rest = ForwardRest()
  /// The number of failures of the store in succession.
  var failureCount = 0
  /// Whether the store is left alone after a failure.
  var isDelayed = false
  /// Whether the numbers of entries may have changed since the last report of them.
  var needsMeasurement = true
  var lastMeasurement: ContinuousClock.Instant?

  private(set) var isPaused = false
  private var isIdle = false
  private var dueTimer: Task<Void, Never>?
  private var renewalTimer: Task<Void, Never>?
  private var delayTimer: Task<Void, Never>?

  init(outbox: Outbox, desk: ForwardDesk, options: ForwardOptions) {
    self.outbox = outbox
    self.desk = desk
    self.options = options
  }

  /// Forwards until the end.
  func run() async {
    desk.send(.started)
    let listeners = makeListeners()
    while await turn() {}
    for task in listeners + [dueTimer, renewalTimer, delayTimer].compactMap({ $0 }) { task.cancel() }
    for call in calls.values { call.cancel() }
    desk.ended(inbox)
    inbox.close()
    desk.send(.stopped)
  }

  // MARK: Turns

  /// Handles the news, and waits for more.
  ///
  /// - Returns: Whether another turn follows.
  private func turn() async -> Bool {
    let news = inbox.take()
    if news.mode == .dead { return false }
    outcomes += news.outcomes
    for call in news.endedCalls { calls[call] = nil }
    updatePause()
    if isPaused || news.mode != .running { releaseWaitingCalls() } else { startWaitingCalls() }
    if news.delayEnded { isDelayed = false }
    if news.needsRenewal, !isDelayed, !flights.isEmpty { await renewLeases() }
    if !outcomes.isEmpty, !isDelayed || news.mode != .running {
      await acknowledge()
      if inbox.isDead { return false }
      if news.mode == .running { return true }
    }
    switch news.mode {
    case .dead: return false
    case .canceling:
      for call in calls.values { call.cancel() }
      if calls.isEmpty, hasNoOutcomes { return false }
    case .draining: if calls.isEmpty, hasNoOutcomes { return false }
    case .running: if await search(news) { return true }
    }
    setRenewalTimer()
    await inbox.wait()
    return true
  }

  /// Whether every result is applied, or could not be applied by a stopping forwarder: the leases of those end by
  /// themselves.
  private var hasNoOutcomes: Bool { outcomes.isEmpty || failureCount > 0 }

  /// Starts calls for ready entries, as far as the limit allows.
  ///
  /// - Returns: Whether another turn follows at once.
  private func search(_ news: ForwardInbox.News) async -> Bool {
    guard !isDelayed else { return false }
    if !isPaused, news.needsScan || hasMore, wantsCalls {
      inbox.beginScan()
      hasMore = false
      needsMeasurement = true
      await startReadyCalls()
      if isDelayed || inbox.isDead { return inbox.isDead }
      setDueTimer()
      // Another forwarder was faster with some of the entries.
      if hasMore, wantsCalls { return true }
    }
    if isPaused, news.needsScan { needsMeasurement = true }
    await measureIfDue()
    guard flights.isEmpty, isPaused || rest.nextAttempt == nil else {
      isIdle = false
      return false
    }
    let left = isPaused ? nil : rest.counts?.total
    if inbox.endFlushes(isPaused: isPaused, othersSend: rest.nextLeaseEnd != nil, left: left, { isHeldBack }), !isPaused
    {
      if !isIdle { desk.send(.idle) }
      isIdle = true
    }
    return false
  }

  /// Whether a search is worth its cost: calls can start, and at most a half of the claimed ones is left.
  private var wantsCalls: Bool {
    calls.count + waitingCalls.count < options.concurrency + options.lookahead / 2
  }

  // MARK: Pauses

  private var isConnectSuspended: Bool { (outbox.container as? any Connect)?.suspended ?? false }

  /// Whether nothing may be sent at the moment.
  private var isHeldBack: Bool { desk.isPaused || isConnectSuspended || !options.connectivity.isOnline }

  private func updatePause() {
    let isPaused = isHeldBack
    guard isPaused != self.isPaused else { return }
    self.isPaused = isPaused
    desk.send(isPaused ? .paused : .resumed)
    if !isPaused { hasMore = true }
  }

  /// The tasks that turn changes of the store, the network and the Connect into news.
  private func makeListeners() -> [Task<Void, Never>] {
    let inbox = inbox
    let connectivity = options.connectivity
    var listeners = [
      Task.detached { for await _ in connectivity.changes { inbox.requestPauseUpdate() } }
    ]
    // Each save that may make an entry ready signals, in this process and in others: saves of edits, merges that change
    // entries, and changes of the user. The claims and settlements of a forwarder do not.
    let signals = outbox.coordinator.signals(OutboxChannel.entries)
    listeners.append(Task.detached { for await _ in signals { inbox.requestScan() } })
    if let suspensions = (outbox.container as? any SuspensionReporting)?.suspensions {
      listeners.append(Task.detached { for await _ in suspensions { inbox.requestPauseUpdate() } })
    }
    return listeners
  }

  // MARK: Timers

  /// Wakes the loop when the next waiting entry becomes ready.
  private func setDueTimer() {
    dueTimer?.cancel()
    dueTimer = nil
    guard let nextDue = rest.nextDue else { return }
    let now = outbox.options.now
    let delay = min(.seconds(max(0, nextDue.timeIntervalSince(now()))), options.longestDelay)
    dueTimer = Task.detached { [clock = options.clock, inbox] in
      var rest = delay
      repeat {
        let part = min(rest, Self.longestSleep)
        guard (try? await clock.sleep(for: part)) != nil else { return }
        // The date of the system may have been set forward, which the clock does not follow.
        rest = min(rest - part, .seconds(nextDue.timeIntervalSince(now())))
      } while rest > .zero
      inbox.requestScan()
    }
  }

  /// A date that was set forward is noticed within this time while entries wait for a date.
  private static let longestSleep = Duration.seconds(60)

  /// Renews the leases in time while edits are being sent.
  private func setRenewalTimer() {
    if flights.isEmpty {
      renewalTimer?.cancel()
      renewalTimer = nil
    } else if renewalTimer == nil {
      renewalTimer = Task.detached { [clock = options.clock, pause = options.leaseDuration / 3, inbox] in
        while (try? await clock.sleep(for: pause)) != nil { inbox.requestRenewal() }
      }
    }
  }

  /// Leaves the store alone for a time after a failure.
  func delay(after error: any Error) {
    failureCount += 1
    isDelayed = true
    desk.send(.failed(error))
    var generator = SystemRandomNumberGenerator()
    let delay = options.retry.delay(afterAttempt: failureCount, using: &generator)
    delayTimer?.cancel()
    delayTimer = timer(delay) { $0.endDelay() }
  }

  private func timer(_ delay: Duration, _ action: @escaping @Sendable (ForwardInbox) -> Void) -> Task<Void, Never> {
    Task.detached { [clock = options.clock, inbox] in
      guard (try? await clock.sleep(for: delay)) != nil else { return }
      action(inbox)
    }
  }
}
