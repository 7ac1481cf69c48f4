import CoherenceCore
public import Foundation
public import HTTPTypes
public import Logging

/// Sends requests again that failed for a reason that may pass.
public struct RetryingClient: HTTPClient {
  private let base: any HTTPClient
  private let policy: HTTPRetryPolicy
  private let clock: any HTTPClock
  private let random: @Sendable () -> Double
  private let logger: Logger

  /// - Parameters:
  ///   - random: Where jitter comes from: numbers from 0 to below 1.
  ///   - logger: Is told of each further attempt: host, method, status, number and delay; never of paths and contents.
  public init(
    _ base: any HTTPClient, policy: HTTPRetryPolicy = HTTPRetryPolicy(), clock: any HTTPClock = .system,
    random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) },
    logger: Logger = Logger(label: "coherence.http")
  ) {
    self.base = base
    self.policy = policy
    self.clock = clock
    self.random = random
    self.logger = logger
  }

  /// Sends until a reply comes that is not to be tried again, or the attempts are used up: then the last reply is
  /// answered, or the last error thrown.
  public func send(_ request: HTTPRequest, body: Data?) async throws -> HTTPReply {
    try await retry(request) { try await base.send(request, body: body) }
  }

  /// Sends until a head comes that is not to be tried again. A body that has begun to come in is not asked for again: its
  /// reader may have used a part of it.
  public func stream(_ request: HTTPRequest, body: Data?) async throws -> HTTPStream {
    try await retry(request) { try await base.stream(request, body: body) }
  }

  private func retry<Answer: HTTPAnswer>(
    _ request: HTTPRequest, _ operation: () async throws -> Answer
  ) async throws -> Answer {
    var attempt = 1
    while true {
      try Task.checkCancellation()
      do {
        let reply = try await operation()
        guard let delay = delay(after: reply, attempt: attempt) else { return reply }
        reply.discard()
        try await pause(delay, attempt, HTTPFailure(status: reply))
      } catch let error as CoherenceError {
        guard attempt < policy.attempts, error.isRetryable, policy.allows(request.method, after: nil) else {
          throw error
        }
        try await pause(policy.backoff(after: attempt, random: random()), attempt, HTTPFailure(to: request))
      }
      attempt += 1
    }
  }

  /// `nil` when the reply is to be taken as it is.
  private func delay(after reply: some HTTPAnswer, attempt: Int) -> Duration? {
    let status = reply.response.status.code
    guard attempt < policy.attempts, policy.statuses.contains(status),
      policy.allows(reply.request.method, after: status)
    else { return nil }
    let backoff = policy.backoff(after: attempt, random: random())
    let asked = reply.response.headerFields[.retryAfter].flatMap { RetryAfter($0, now: clock.now)?.duration }
    guard let asked else { return backoff }
    return asked > policy.longestRetryAfter ? nil : max(asked, backoff)
  }

  private func pause(_ delay: Duration, _ attempt: Int, _ failure: HTTPFailure) async throws {
    logger.info(
      "A request is sent again.",
      metadata: [
        "host": "\(failure.host)", "method": "\(failure.method.rawValue)", "attempt": "\(attempt + 1)",
        "status": "\(failure.status.map { "\($0)" } ?? "none")", "delay": "\(seconds(delay)) s",
      ])
    try await clock.wait(for: delay)
  }
}

extension HTTPClient {
  /// This client, sending again what failed for a reason that may pass; see ``RetryingClient``.
  public func retrying(
    _ policy: HTTPRetryPolicy = HTTPRetryPolicy(), clock: any HTTPClock = .system,
    logger: Logger = Logger(label: "coherence.http")
  ) -> RetryingClient {
    RetryingClient(self, policy: policy, clock: clock, logger: logger)
  }
}
