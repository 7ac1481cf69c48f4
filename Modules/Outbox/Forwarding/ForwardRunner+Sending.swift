import CoherenceActions
import CoherenceCore
import Foundation

extension ForwardRunner {
  /// Starts waiting calls, up to the limit of concurrent calls.
  func startWaitingCalls() {
    while calls.count < options.concurrency, !waitingCalls.isEmpty { start(waitingCalls.removeFirst()) }
  }

  /// Releases the claims of the waiting calls, without an attempt.
  func releaseWaitingCalls() {
    for flight in waitingCalls.flatMap(\.flights) {
      outcomes.append(ForwardOutcome(flight: flight, result: nil, isOnline: true))
    }
    waitingCalls = []
  }

  /// Starts a task that calls a handler and puts the results into the messages.
  private func start(_ call: ForwardCall) {
    let number = nextCall
    nextCall += 1
    sentHeads.formUnion(call.flights.map(\.head))
    forwarding.updateStatistics { statistics in
      statistics.attempts += call.flights.count
      statistics.inFlight += call.flights.count
      statistics.coalesced += call.flights.reduce(0) { $0 + $1.step.entries.count - 1 }
    }
    calls[number] = Task.detached {
      [forwarding, messages, coordinator = outbox.coordinator, connectivity = options.connectivity] in
      for flight in call.flights {
        guard forwarding.reached(.sent, flight) else { return messages.crash() }
        forwarding.send(.sending(flight.request))
      }
      let results = await messages.handlerCalls.run { await call.run(in: coordinator) }
      for flight in call.flights {
        guard forwarding.reached(.answered, flight) else { return messages.crash() }
      }
      let isOnline = connectivity.isOnline
      messages.finish(
        number,
        zip(call.flights, results).map { ForwardOutcome(flight: $0, result: $1, isOnline: isOnline) })
    }
  }

  /// Extends the leases of all claimed edits.
  func renewLeases() async {
    let lease = outbox.options.now().addingTimeInterval(options.leaseDuration / .seconds(1))
    let claim = ForwardClaim(outbox: outbox, claimant: claimant)
    for heads in Array(flights.keys).grouped(byStoreOf: { $0 }) where !isLeftOut(heads[0]) {
      let stores = heads[0].storeIdentifier.map { Set([$0]) }
      do {
        try await outbox.newContext(in: stores).perform { context in
          try claim.renew(Set(heads), until: lease, in: context)
        }
      } catch {
        // A later renewal may succeed before the leases end. Otherwise another forwarder sends the edits with the same
        // keys.
        forwarding.send(.failed(error))
      }
    }
  }
}
