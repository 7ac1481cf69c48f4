import CoherenceActions
import CoherenceCore
import Foundation

/// The consequence of an attempt for the entries of its edit.
struct ForwardSettlement: Sendable {
  enum Consequence: Sendable {
    /// The entries are removed, and the server's values are written to the record.
    case remove([String: AttributeValue])
    /// Another attempt follows at a date.
    case again(Date, error: String, counts: Bool)
    /// Another attempt follows under a new idempotency key.
    case renew
    /// The entries return to their state before the claim, because nothing was sent.
    case release
    /// The entries are parked. A refused edit is certainly not applied by the server.
    case park(error: String, isRefused: Bool)
    /// The entries are parked, and the server's values are kept as a conflict for the user.
    case keepConflict([String: AttributeValue], error: String)
  }

  let flight: ForwardFlight
  var consequence: Consequence
  var event: OutboxEvent?
  var count: @Sendable (inout ForwardStatistics) -> Void
  /// The server's values of a conflict that is sent again.
  var serverValues: [String: AttributeValue]?

  /// - Parameter isCanceling: Whether the forwarder has canceled its attempts.
  init(_ outcome: ForwardOutcome, options: ForwardOptions, now: Date, isCanceling: Bool) {
    let flight = outcome.flight
    switch outcome.result {
    case nil: self.init(flight, .release, nil) { _ in }
    case .success(let answer): self.init(answer.decision, flight, options, now)
    case .failure(let error):
      if isCanceling || !outcome.isOnline {
        self = Self.again(flight, after: error, delay: .zero, counts: false, options, now)
      } else if flight.content.attempt < options.retry.attempts, options.retry.isRetryable(error) {
        var generator = SystemRandomNumberGenerator()
        let delay = options.retry.delay(afterAttempt: flight.content.attempt, using: &generator)
        let advised = RetryPolicy.advisedDelay(of: error, at: now) ?? .zero
        self = Self.again(flight, after: error, delay: max(delay, advised), counts: true, options, now)
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
      self = Self.again(flight, after: error, delay: delay, counts: true, options, now)
    case .conflict(let values): self.init(conflict: values, flight, options)
    }
  }

  private init(conflict values: [String: AttributeValue], _ flight: ForwardFlight, _ options: ForwardOptions) {
    var resolution = options.conflictPolicy.resolve(flight.request, values)
    // A server that reports the conflict again and again must not be asked for ever.
    if resolution == .sendAgain, flight.content.attempt >= options.retry.attempts { resolution = .park }
    let consequence: Consequence =
      switch resolution {
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

  private init(
    _ flight: ForwardFlight, _ consequence: Consequence, _ event: OutboxEvent?,
    _ count: @escaping @Sendable (inout ForwardStatistics) -> Void
  ) {
    self.flight = flight
    self.consequence = consequence
    self.event = event
    self.count = count
  }

  /// The consequence of an error of the user's handler, or of the store when the server's values could not be written.
  static func park(_ flight: ForwardFlight, _ error: any Error, isRefused: Bool) -> ForwardSettlement {
    ForwardSettlement(
      flight, .park(error: error.logText, isRefused: isRefused), .parked(flight.request, error: error)
    ) { $0.parked += 1 }
  }

  private static func again(
    _ flight: ForwardFlight, after error: any Error, delay: Duration, counts: Bool, _ options: ForwardOptions,
    _ now: Date
  ) -> ForwardSettlement {
    let delay = min(delay, options.longestDelay)
    // Not the present date, which a clock that is set back would turn into a later one.
    let date = delay > .zero ? now.addingTimeInterval(delay / .seconds(1)) : OutboxEntryRecord.atOnce
    return ForwardSettlement(
      flight, .again(date, error: error.logText, counts: counts),
      .willRetry(flight.request, error: error, delay: delay)
    ) { $0.retried += 1 }
  }

  private static func conflictError(_ flight: ForwardFlight) -> CoherenceError {
    CoherenceError(
      .forwardConflict,
      "The server's record of '\(flight.content.entityName)' differs from the base of the edit; resolve the "
        + "conflict of the outbox, or retry, edit or drop the entry.")
  }
}
