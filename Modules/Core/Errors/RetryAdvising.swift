public import Foundation

/// An error with advice about the date of the next attempt, such as the `Retry-After` of a server.
public protocol RetryAdvising: Error {
  /// The shortest delay before another attempt; `nil` without advice.
  ///
  /// - Parameter now: The present date, which the advice may refer to.
  func retryDelay(at now: Date) -> Duration?
}

extension RetryPolicy {
  /// Returns the shortest delay that an error, or the error that caused it, asks for; `nil` without advice.
  public static func advisedDelay(of error: any Error, at now: Date) -> Duration? {
    var next: (any Error)? = error
    while let error = next {
      if let delay = (error as? any RetryAdvising)?.retryDelay(at: now) { return delay }
      next = (error as? CoherenceError)?.underlying
    }
    return nil
  }
}
