public import Foundation

/// An error with advice about the date of the next attempt, such as the `Retry-After` of a server.
///
/// Where the framework repeats failed work after a delay, it waits at least as long as the error asks for: actions,
/// persisted actions, retried background tasks and streams of server-sent events without a bound, refreshes and edits
/// of an outbox up to the longest delay of their options.
public protocol RetryAdvising: Error {
  /// The shortest delay before another attempt; `nil` without advice. A delay of more than a century counts as a
  /// century.
  ///
  /// - Parameter now: The present date, which the advice may refer to.
  func retryDelay(at now: Date) -> Duration?
}

extension RetryPolicy {
  /// The greatest delay that an error can ask for. A server may ask for any number of seconds, and a delay of millennia
  /// overflows the deadlines of clocks and the dates of stores.
  package static let longestAdvisedDelay = Duration.seconds(36_525 * 86_400)

  /// Returns the shortest delay that an error, or the error that caused it, asks for, a century at most; `nil` without
  /// advice.
  public static func advisedDelay(of error: any Error, at now: Date) -> Duration? {
    var next: (any Error)? = error
    while let error = next {
      if let delay = (error as? any RetryAdvising)?.retryDelay(at: now) {
        return min(delay, longestAdvisedDelay)
      }
      next = (error as? CoherenceError)?.underlying
    }
    return nil
  }

  /// Returns the delay after a failed attempt: that of the policy, or the longer one that the error asks for.
  package func delay(afterAttempt attempt: Int, throwing error: any Error, at now: Date) -> Duration {
    max(delay(afterAttempt: attempt), RetryPolicy.advisedDelay(of: error, at: now) ?? .zero)
  }
}
