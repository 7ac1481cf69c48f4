import CoherenceCore

extension ForwardRunner {
  /// Claims ready entries, and starts the calls of their handlers.
  func startReadyCalls() async {
    forwarding.updateStatistics { $0.searches += 1 }
    let delayEnd = breaker.delayEnd(at: outbox.options.now(), longestDelay: options.longestDelay)
    let admission = breaker.admission(isDelayed: delayEnd != nil) { flights[$0] != nil }
    let selection: ForwardSearch.Selection
    do {
      try await endDelays()
      selection = try await select(admission)
    } catch {
      // The request for a search is marked as begun, so that without this flag no search would follow the delay.
      hasMore = true
      surplus = OutboxSurplus()
      return delay(after: error)
    }
    hasMore = selection.hasMore
    reportUnreadable(selection.unreadable)
    (backlog, surplus) = (selection.backlog, selection.surplus)
    breaker.retain(exhausted: selection.exhausted)
    if let delayEnd { backlog.postpone(until: delayEnd, holdsBack: selection.holdsBack) }
    if admission == .probe { breaker.begin(probe: selection.calls.first?.flights.first?.head) }
    outcomes += selection.unsendable
    for flight in selection.calls.flatMap(\.flights) + selection.unsendable.map(\.flight) {
      flights[flight.head] = flight
      guard forwarding.reached(.claimed, flight) else { return messages.crash() }
    }
    waitingCalls.append(contentsOf: selection.calls)
    startWaitingCalls()
    if !selection.unsendable.isEmpty { await acknowledge() }
  }

  /// Reports each unreadable record of the log once, because it stays until a person drops it.
  private func reportUnreadable(_ logs: Set<ManagedObjectID>) {
    for _ in logs.subtracting(reportedLogs) { forwarding.send(.failed(LogReader.unreadable)) }
    reportedLogs.formUnion(logs)
  }

  /// Reads and claims ready entries.
  private func select(_ admission: CircuitBreaker.Admission) async throws -> ForwardSearch.Selection {
    let search = ForwardSearch(
      outbox: outbox, forwarding: forwarding, options: options, claimant: claimant, admission: admission,
      stores: searchedStores, freeCalls: options.concurrency + options.lookahead - calls.count - waitingCalls.count,
      flights: flights, exhausted: breaker.exhausted, backlog: backlog,
      surplus: admission == .all ? surplus : OutboxSurplus())
    return try await run(search)
  }
}
