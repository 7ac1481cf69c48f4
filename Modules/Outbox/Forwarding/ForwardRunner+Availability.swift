import CoherenceActions
import CoherenceCore
import Foundation

extension ForwardRunner {
  /// Adds the results of ended calls to ``outcomes``, and lets the breaker note whether the server was available.
  ///
  /// The breaker notes a result before the next waiting call starts, and before the result is written to the store.
  func receive(_ results: [ForwardOutcome]) {
    let isCanceling = messages.mode == .canceling
    let now = outbox.options.now()
    var isUnavailable = false
    for var outcome in results {
      let head = outcome.flight.head
      var isConclusive = true
      if case .failure(let error)? = outcome.result {
        isConclusive = outcome.isOnline && !isCanceling
        if isConclusive {
          outcome.outage = ForwardOutage(
            error, attempt: outcome.flight.content.attempt,
            failureCount: breaker.failureCountAfterFailure(of: head), at: now, options)
        }
      }
      outcomes.append(outcome)
      if let outage = outcome.outage {
        let others = breaker.isClosed ? unanswered : []
        if breaker.noteOutage(outage, of: head, besides: others, at: now, longestDelay: options.longestDelay) {
          // After the outage, a new search begins with the oldest entries.
          surplus = OutboxSurplus()
          releaseWaitingCalls()
          isUnavailable = true
        }
      } else if !isConclusive {
        breaker.noteEnd(of: head)
      } else if breaker.noteReply(to: head, besides: unanswered) {
        // The next search begins with the oldest entries, which may have waited for the end of their delays.
        surplus = OutboxSurplus()
        hasMore = true
      }
    }
    // The delay has begun, so that a change from offline to online ends it. A connectivity that stays online does not.
    if isUnavailable { options.connectivity.noteFailure() }
  }

  /// The edits that handlers have received, without the edits whose results are in ``outcomes``.
  private var unanswered: Set<ManagedObjectID> { sentHeads.subtracting(outcomes.map(\.flight.head)) }

  /// Lets the next search send an edit during an outage, unless the server has asked for a delay that still lasts.
  func endOutageDelay() {
    breaker.endDelay(at: outbox.options.now(), longestDelay: options.longestDelay)
    hasMore = true
  }

  /// Makes the edits due in the store whose delays the breaker has ended.
  func endDelays() async throws {
    var overdue = breaker.overdue
    guard !overdue.isEmpty else { return }
    for heads in Array(overdue.keys).grouped(byStoreOf: { $0 }) where !isLeftOut(heads[0]) {
      let store = heads[0].storeIdentifier
      let delays = overdue.filter { $0.key.storeIdentifier == store }
      do {
        let delayed = try await outbox.newContext(in: store.map { [$0] }).perform { [outbox] context in
          try outbox.endDelays(delays, in: context)
        }
        for head in heads { overdue[head] = delayed[head] }
      } catch {
        guard leaveOut(store, after: error) else { throw error }
      }
    }
    breaker.keepOverdue(overdue)
  }
}

extension Outbox {
  /// Makes waiting entries due at once, unless an entry has another delay by now. After ten lost races each half of the
  /// entries is changed in a transaction of its own, and so on, so that other writers delay only the entries that they
  /// change, and few of them cost few transactions.
  ///
  /// - Parameter delays: The ends of the delays, by the identifiers of the entries.
  /// - Returns: The delays that ten lost races have left, for the next search.
  func endDelays(
    _ delays: [ManagedObjectID: Date], in context: ManagedObjectContext
  ) throws -> [ManagedObjectID: Date] {
    if try endDelaysTogether(delays, in: context) { return [:] }
    guard delays.count > 1 else { return delays }
    let pairs = delays.map { ($0.key, $0.value) }
    let halves = [pairs.prefix(pairs.count / 2), pairs.dropFirst(pairs.count / 2)]
    return try halves.reduce(into: [:]) { kept, half in
      let delayed = try endDelays(Dictionary(uniqueKeysWithValues: half), in: context)
      kept.merge(delayed) { delay, _ in delay }
    }
  }

  /// Makes waiting entries due in one transaction.
  ///
  /// - Returns: `false` after ten lost races.
  private func endDelaysTogether(
    _ delays: [ManagedObjectID: Date], in context: ManagedObjectContext
  ) throws -> Bool {
    for _ in 0..<10 {
      for record in try records(Array(delays.keys), in: context) where record.state == .pending {
        // A store may round dates.
        guard let end = delays[record.objectID], abs(record.nextAttempt.timeIntervalSince(end)) < 0.001 else {
          continue
        }
        record.nextAttempt = OutboxEntryRecord.atOnce
      }
      do {
        if context.hasChanges { try context.save() }
        return true
      } catch  where ForwardClaim.isLostRace(error) {
        // The context drops its objects, because they have values from before the conflict.
        context.reset()
      }
    }
    return false
  }
}
