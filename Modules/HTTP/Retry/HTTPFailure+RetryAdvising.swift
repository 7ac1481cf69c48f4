public import CoherenceCore
public import Foundation

extension HTTPFailure: RetryAdvising {
  /// Returns the delay that the reply's `Retry-After` asks for, as a number of seconds or as a date. A date counts from
  /// the `Date` of the reply, because the server's clock may differ from the clock here, or else from `now`.
  public func retryDelay(at now: Date) -> Duration? {
    retryAfter.flatMap { RetryAfter($0, in: replyDate, now: now)?.duration }
  }
}
