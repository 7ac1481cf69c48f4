import CoherenceActions
import CoherenceCore
import Foundation

/// The effect of an attempt on the entries of its edit, with the event and the counts to report.
struct ForwardSettlement: Sendable {
  /// The effect on the entries of the edit.
  enum Consequence: Sendable {
    /// The entries are deleted, and the server's values are written to the record. So are the restored bases of a
    /// discarded edit, for properties without a value of the server, and its changes of members are taken back.
    case remove(
      [String: AttributeValue], restoring: [String: OutboxValue] = [:], takingBack: [OutboxMembers] = [])
    /// The deletion gives way: the record is inserted again with the server's values, and the entries are deleted.
    case restore([String: AttributeValue])
    /// Another attempt follows at a date. `counts` says whether the failed attempt counts for the policy; the first
    /// attempt of an edit always counts.
    case again(Date, error: String, counts: Bool)
    /// Another attempt follows under a new idempotency key.
    case renew
    /// The entries return to their state before the claim, because nothing was sent.
    case release
    /// The first entry is parked. The server has certainly not applied a refused edit.
    case park(error: String, isRefused: Bool)
    /// The first entry is parked, and the server's values become a conflict for the user.
    case keepConflict([String: AttributeValue], error: String)
  }

  let flight: ForwardFlight
  var consequence: Consequence
  /// The event to send after the transaction of the settlement.
  var event: OutboxEvent?
  /// Counts the settlement in the statistics, after its transaction.
  var count: @Sendable (inout ForwardStatistics) -> Void
  /// The server's values, if the edit is sent again after a conflict: the bases of the next request.
  var serverValues: [String: AttributeValue]?

  /// - Parameters:
  ///   - outcome: The result of the attempt.
  ///   - isCanceling: Whether the forwarder has cancelled its attempts.
  init(_ outcome: ForwardOutcome, options: ForwardOptions, now: Date, isCanceling: Bool) {
    let flight = outcome.flight
    switch outcome.result {
    case nil: self.init(flight, .release, nil) { _ in }
    case .success(let answer): self.init(answer.decision, flight, options, now)
    case .failure(let error):
      if isCanceling || !outcome.isOnline {
        self = Self.again(flight, after: error, ForwardDelay(.zero, from: now, options), counts: false)
      } else if options.retry.allowsAttempt(after: error, flight.content.attempt) {
        let attempt = flight.content.attempt
        let delay = outcome.outage?.delay ?? ForwardDelay(after: error, attempt: attempt, from: now, options)
        // Only an unavailable server gets attempts after the last one of the policy. They all have the number of the
        // last one, so that the delay stays as it is.
        self = Self.again(flight, after: error, delay, counts: attempt < options.retry.attempts)
      } else {
        self = Self.park(flight, error, isRefused: false)
      }
    }
  }

  private init(_ decision: ForwardAnswer.Decision, _ flight: ForwardFlight, _ options: ForwardOptions, _ now: Date) {
    switch decision {
    case .accepted(let values):
      self.init(flight, .remove(values), .accepted(flight.request)) { $0.accepted += 1 }
    case .rejected(let error): self = Self.park(flight, error, isRefused: true)
    case .later(let delay):
      let error = CoherenceError(.serverUnreachable, "The server asked for a later attempt.", isRetryable: true)
      self = Self.again(flight, after: error, ForwardDelay(delay, from: now, options), counts: true)
    case .conflict(let values): self.init(conflict: values, flight, options)
    }
  }

  private init(conflict values: [String: AttributeValue], _ flight: ForwardFlight, _ options: ForwardOptions) {
    if Self.isApplied(flight, values) {
      self.init(flight, .remove(values), .accepted(flight.request)) { $0.accepted += 1 }
      return
    }
    var resolution =
      Self.isUnopposedDeletion(flight, values) ? .sendAgain : options.conflictPolicy.resolve(flight.request, values)
    // The number of attempts is limited even if the server reports the conflict each time.
    if resolution == .sendAgain, flight.content.attempt >= options.retry.attempts { resolution = .park }
    let consequence: Consequence =
      switch resolution {
      case .acceptServer where flight.step.kind == .delete: .restore(values)
      case .acceptServer where flight.step.kind == .update:
        .remove(
          values, restoring: Self.bases(of: flight.step, without: values), takingBack: flight.step.members)
      case .acceptServer: .remove(values)
      case .sendAgain: .renew
      case .park: .keepConflict(values, error: Self.conflictError(flight).logText)
      }
    let isParked = resolution == .park
    self.init(
      flight, consequence, .conflict(flight.request, serverValues: values, resolution: resolution)
    ) { statistics in
      statistics.conflicts += 1
      if isParked { statistics.parked += 1 }
    }
    if resolution == .sendAgain { serverValues = values }
  }

  /// The bases of an update's properties that a reply does not report. The base is the last value that the server is
  /// known to have had.
  private static func bases(
    of step: OutboxStep, without reported: [String: AttributeValue]
  ) -> [String: OutboxValue] {
    let unreported = step.changes.filter { $0.isKnown && reported[$0.name] == nil }
    return Dictionary(unreported.compactMap { change in change.base.map { (change.name, $0) } }) { first, _ in first }
  }

  /// Whether the server's record has every value of a refused update: nothing is left to be decided or sent. A server
  /// without idempotency keys refuses the repetition of an update whose reply was lost, because the update itself has
  /// changed the record. No reply has relationships.
  private static func isApplied(_ flight: ForwardFlight, _ values: [String: AttributeValue]) -> Bool {
    let step = flight.step
    guard step.kind == .update, step.members.isEmpty, !step.changes.isEmpty else { return false }
    return step.changes.allSatisfy { change in
      guard let value = change.value?.attributeValue else { return false }
      return values[change.name] == value
    }
  }

  /// Whether the server has refused a deletion, although its record differs from the deleted one only in values that
  /// the server assigns. The server has to have reported all other values, because a deletion must not overrule a
  /// change that it has not reported. No reply has the target of a to-one relationship.
  private static func isUnopposedDeletion(_ flight: ForwardFlight, _ values: [String: AttributeValue]) -> Bool {
    guard flight.step.kind == .delete else { return false }
    let content = flight.content
    let differing = values.filter { name, value in content.base[name] != value }
    let deleted = Set(flight.step.changes.map(\.name)).subtracting(content.assigned.keys)
      .subtracting(flight.step.identity.keys)
    return !differing.isEmpty && differing.keys.allSatisfy { content.assigned[$0] != nil }
      && deleted.isSubset(of: values.keys)
  }

  private init(
    _ flight: ForwardFlight, _ consequence: Consequence, _ event: OutboxEvent?,
    _ count: @escaping @Sendable (inout ForwardStatistics) -> Void
  ) {
    self.flight = flight
    self.consequence = consequence
    self.event = event
    self.count = count
  }

  /// Parks an edit after an error of the handler, or after an error of the store that refused the server's values.
  static func park(_ flight: ForwardFlight, _ error: any Error, isRefused: Bool) -> ForwardSettlement {
    ForwardSettlement(
      flight, .park(error: error.logText, isRefused: isRefused), .parked(flight.request, error: error)
    ) { $0.parked += 1 }
  }

  /// Sends an edit again after a delay.
  static func again(
    _ flight: ForwardFlight, after error: any Error, _ delay: ForwardDelay, counts: Bool
  ) -> ForwardSettlement {
    ForwardSettlement(
      flight, .again(delay.end, error: error.logText, counts: counts),
      .willRetry(flight.request, error: error, delay: delay.duration)
    ) { $0.retried += 1 }
  }

  /// Leaves a conflict to the user, because the store has refused the record with the server's values.
  static func keepConflict(_ flight: ForwardFlight, _ values: [String: AttributeValue]) -> ForwardSettlement {
    ForwardSettlement(
      flight, .keepConflict(values, error: conflictError(flight).logText),
      .conflict(flight.request, serverValues: values, resolution: .park)
    ) { statistics in
      statistics.conflicts += 1
      statistics.parked += 1
    }
  }

  private static func conflictError(_ flight: ForwardFlight) -> CoherenceError {
    CoherenceError(
      .forwardConflict,
      "The server's record of '\(flight.content.entityName)' differs from the base of the edit; resolve the "
        + "conflict of the outbox, or retry, edit or drop the entry.")
  }
}

extension RetryPolicy {
  /// Whether another attempt follows a failed attempt. An edit is not given up because the server is unavailable.
  fileprivate func allowsAttempt(after error: any Error, _ attempt: Int) -> Bool {
    isRetryable(error) && (attempt < attempts || RetryPolicy.isServiceUnavailable(error))
  }
}
