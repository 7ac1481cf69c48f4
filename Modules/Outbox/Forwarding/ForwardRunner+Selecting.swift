import CoherenceCore

extension ForwardRunner {
  /// Claims ready entries, and starts the calls of their handlers.
  func startReadyCalls() async {
    forwarding.updateStatistics { $0.searches += 1 }
    let selection: ForwardSearch.Selection
    do {
      selection = try await select(
        callLimit: options.concurrency + options.lookahead - calls.count - waitingCalls.count)
      failureCount = 0
    } catch {
      // The request for a search is marked as begun, so that without this flag no search would follow the delay.
      hasMore = true
      surplus = OutboxSurplus()
      return delay(after: error)
    }
    hasMore = selection.hasMore
    (rest, surplus) = (selection.rest, selection.surplus)
    outcomes += selection.unsendable
    for flight in selection.calls.flatMap(\.flights) + selection.unsendable.map(\.flight) {
      flights[flight.head] = flight
      guard forwarding.reached(.claimed, flight) else { return messages.crash() }
    }
    waitingCalls.append(contentsOf: selection.calls)
    startWaitingCalls()
    if !selection.unsendable.isEmpty { await acknowledge() }
  }

  /// Reads and claims ready entries in one unit of work.
  private func select(callLimit: Int) async throws -> ForwardSearch.Selection {
    let search = ForwardSearch(
      outbox: outbox, forwarding: forwarding, options: options, claimant: claimant, callLimit: callLimit,
      serverValues: serverValues, flights: flights, rest: rest, surplus: surplus)
    return try await outbox.newContext().perform { try search.run(in: $0) }
  }
}
