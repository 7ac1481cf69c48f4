import CoherenceCore
import Foundation

extension ForwardRunner {
  /// The result of a search.
  private struct Selection: Sendable {
    var calls: [ForwardCall] = []
    /// The claimed edits that no handler can send, with their errors.
    var unsendable: [ForwardOutcome] = []
    /// Whether another search may find more ready entries.
    var hasMore = false
    var rest = ForwardRest()
    var surplus = OutboxSurplus()
  }

  /// Claims ready entries, and starts the calls of their handlers.
  func startReadyCalls() async {
    desk.count { $0.scans += 1 }
    let selection: Selection
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
      guard desk.reached(.claimed, flight) else { return inbox.die() }
    }
    waitingCalls.append(contentsOf: selection.calls)
    startWaitingCalls()
    if !selection.unsendable.isEmpty { await acknowledge() }
  }

  /// Reads and claims ready entries in one unit of work.
  private func select(callLimit: Int) async throws -> Selection {
    let (outbox, desk, options, claimant) = (outbox, desk, options, claimant)
    let (serverValues, flights, rest, surplus) = (serverValues, flights, rest, surplus)
    return try await outbox.newContext().perform { context in
      let now = outbox.options.now()
      let limit = callLimit * desk.largestBatch
      if limit > 0 { try outbox.makeEntries() }
      var found = try outbox.selection(from: surplus, in: context, at: now, limit: limit)
      let isSearch = found.steps.isEmpty
      if isSearch {
        found = try outbox.selection(in: context, at: now, limit: limit, maximumDelay: options.longestDelay) { node in
          guard node.claimant == claimant else { return .untilLeaseEnds }
          // A claim without an edit: the store has applied it although its save reported a failure.
          return flights[node.id] == nil ? .abandoned : .held
        }
      }
      var plan = ForwardCallPlan(limit: callLimit, desk: desk, model: outbox.coordinator.managedObjectModel)
      for step in found.steps { plan.add(step.ascertainingInsert) }
      let lease = now.addingTimeInterval(options.leaseDuration / .seconds(1))
      let claim = ForwardClaim(outbox: outbox, claimant: claimant)
      let claimed = try claim.take(plan.steps, found.objects, until: lease, in: context)
      let loaded = try claimed.map { try outbox.loaded($0, in: context) }
      let contents = try ForwardContents(of: loaded, besides: found, outbox: outbox, context: context)
      // A merge or another forwarder has changed the entries of a lost claim, so that the next search reads them again.
      let hasLostClaims = claimed.count < plan.steps.count
      var selection = Selection(hasMore: hasLostClaims || !isSearch || !found.isComplete || !found.surplus.isEmpty)
      for step in loaded {
        var content = contents.content(of: step)
        if let values = serverValues[step.head.id] { content.base.merge(values) { _, server in server } }
        plan.fill(ForwardFlight(step: step, content: content))
      }
      selection.calls = plan.calls
      selection.unsendable = plan.unsendable
      if !hasLostClaims {
        selection.surplus = found.surplus
        selection.surplus.putBack(plan.leftOut, from: found.candidates)
      }
      if !isSearch {
        selection.rest = rest
        selection.rest.claim(claimed)
      } else if found.isComplete {
        selection.rest = ForwardRest(
          of: found.nodes, besides: claimed + flights.values.map(\.step), at: now, maximumDelay: options.longestDelay)
        // A read-only store may have logged changes without entries.
        if outbox.hasReadOnlyStores { selection.rest.counts = nil }
        let isFull = !plan.leftOut.isEmpty || found.steps.count == limit
        if isFull, selection.rest.hasWaitingEntries { selection.hasMore = true }
      }
      return selection
    }
  }
}
