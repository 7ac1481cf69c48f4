import CoherenceCore
import Foundation

/// The failure of an attempt that found the server unavailable, and that another attempt follows.
struct ForwardOutage: Sendable {
  let delay: ForwardDelay
  /// The end of the delay that the server has asked for.
  let advisedEnd: Date
  /// Whether the edit has had the last attempt of the policy.
  let isAfterLastAttempt: Bool

  /// Makes the outage of a failed attempt; `nil` when the error says nothing about the availability of the server, or
  /// when the policy does not retry the error.
  ///
  /// - Parameters:
  ///   - attempt: The number of the failed attempt of the edit.
  ///   - failureCount: The number of consecutive failures of the server. The delay grows with the greater of the two
  ///     numbers, because a probe may be the first attempt of its edit.
  init?(_ error: any Error, attempt: Int, failureCount: Int, at now: Date, _ options: ForwardOptions) {
    let policy = options.retry
    guard policy.isRetryable(error), RetryPolicy.isServiceUnavailable(error) else { return nil }
    delay = ForwardDelay(
      after: error, attempt: max(attempt, min(failureCount, policy.attempts)), from: now, options)
    advisedEnd = ForwardDelay(RetryPolicy.advisedDelay(of: error, at: now) ?? .zero, from: now, options).end
    isAfterLastAttempt = attempt >= policy.attempts
  }
}
