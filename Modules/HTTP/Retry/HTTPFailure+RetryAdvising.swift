public import CoherenceCore
public import Foundation

extension HTTPFailure: RetryAdvising {
  /// Returns the delay that the reply's `Retry-After` asks for, as a number of seconds or as a date.
  public func retryDelay(at now: Date) -> Duration? {
    retryAfter.flatMap { RetryAfter($0, now: now)?.duration }
  }
}
