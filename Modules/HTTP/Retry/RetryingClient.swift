import CoherenceCore
public import Foundation
public import HTTPTypes
public import Logging

/// Repeats requests after transient failures: after an error that is retryable, and after a reply with a status of the
/// policy. May be used from any thread.
public struct RetryingClient: HTTPClient {
  private let base: any HTTPClient
  private let policy: HTTPRetryPolicy
  private let clock: any HTTPClock
  private let random: @Sendable () -> Double
  private let logger: Logger

  /// Wraps a client.
  ///
  /// - Parameters:
  ///   - base: The client that sends the requests.
  ///   - policy: The conditions, the delays and the number of attempts.
  ///   - clock: Waits between attempts.
  ///   - random: The source of the jitter: returns numbers from 0 to below 1.
  ///   - logger: Logs host, method, status, number and delay of each further attempt, and never paths and contents.
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

  /// Sends a request until a reply or error is not retryable, or until the last attempt. Returns the last reply.
  ///
  /// - Throws: The last error; `CancellationError` when the task is cancelled, also between attempts.
  public func send(_ request: HTTPRequest, body: Data?) async throws -> HTTPReply {
    try await retry(request) { try await base.send(request, body: body) }
  }

  /// Sends a request until the head of a reply, or an error, is not retryable, or until the last attempt. An error
  /// within the body causes no further attempt, because the reader may have used a part of the body.
  ///
  /// - Throws: The errors of ``send(_:body:)``.
  public func stream(_ request: HTTPRequest, body: Data?) async throws -> HTTPStream {
    try await retry(request) { try await base.stream(request, body: body) }
  }

  /// Runs an operation until its reply or error is returned or thrown. A reply that another attempt replaces is discarded.
  private func retry<Reply: AnyHTTPReply>(
    _ request: HTTPRequest, _ operation: () async throws -> Reply
  ) async throws -> Reply {
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

  /// The delay before the next attempt: the back-off, or a longer `Retry-After`; `nil` for a reply to return.
  private func delay(after reply: some AnyHTTPReply, attempt: Int) -> Duration? {
    let status = reply.response.status.code
    guard attempt < policy.attempts, policy.statuses.contains(status),
      policy.allows(reply.request.method, after: status)
    else { return nil }
    let backoff = policy.backoff(after: attempt, random: random())
    let fields = reply.response.headerFields
    let requested = fields[.retryAfter].flatMap { RetryAfter($0, in: fields[.date], now: clock.now)?.duration }
    guard let requested else { return backoff }
    return requested > policy.longestRetryAfter ? nil : max(requested, backoff)
  }

  /// Logs the next attempt, and waits for its delay.
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
  /// Wraps this client so that requests are repeated after transient failures; see ``RetryingClient``. The jitter comes
  /// from the random numbers of the system.
  ///
  /// - Parameters:
  ///   - policy: The conditions, the delays and the number of attempts.
  ///   - clock: Waits between attempts.
  ///   - logger: Logs each further attempt.
  public func retrying(
    _ policy: HTTPRetryPolicy = HTTPRetryPolicy(), clock: any HTTPClock = .system,
    logger: Logger = Logger(label: "coherence.http")
  ) -> RetryingClient {
    RetryingClient(self, policy: policy, clock: clock, logger: logger)
  }
}
