import CoherenceCore
import Foundation

/// How often, and after which time, an action that threw is run again.
///
/// The time doubles from attempt to attempt (or grows by another factor) up to a maximum, and a random part of it is left
/// out, so that many clients that failed together do not come back together: exponential backoff with jitter, see Marc
/// Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
///
/// An action that waits for its next attempt is ``ActionState/pending`` and has left its place in the queue: others run
/// in the meantime. Each attempt of an entity action has a context of its own.
public struct RetryPolicy: Sendable {
  /// The number of attempts in all, the first one included; at least one.
  public var attempts: Int
  /// The time between the first attempt and the second.
  public var initialDelay: Duration
  /// By what the time grows from attempt to attempt; at least one.
  public var factor: Double
  /// The longest time between two attempts.
  public var maximumDelay: Duration
  /// The random part of the time: 0 for none, 1 for all of it.
  public var jitter: Double
  /// Whether an error is worth another attempt.
  public var isRetryable: @Sendable (any Error) -> Bool

  public init(
    attempts: Int = 3, initialDelay: Duration = .seconds(1), factor: Double = 2, maximumDelay: Duration = .seconds(60),
    jitter: Double = 0.5, isRetryable: @escaping @Sendable (any Error) -> Bool = RetryPolicy.isTransient
  ) {
    self.attempts = max(1, attempts)
    self.initialDelay = max(.zero, initialDelay)
    self.factor = max(1, factor)
    self.maximumDelay = max(.zero, maximumDelay)
    self.jitter = min(1, max(0, jitter))
    self.isRetryable = isRetryable
  }

  /// The time to wait after so many attempts.
  ///
  /// - Parameter generator: Where the random part comes from.
  public func delay(afterAttempt attempt: Int, using generator: inout some RandomNumberGenerator) -> Duration {
    guard initialDelay > .zero else { return .zero }
    let longest = max(.zero, maximumDelay)
    // As seconds, of which no number of doublings makes too many for a `Double`.
    let seconds = (initialDelay / .seconds(1)) * pow(max(1, factor), Double(max(1, attempt) - 1))
    let full = seconds < longest / .seconds(1) ? Duration.seconds(seconds) : longest
    guard jitter > 0 else { return full }
    return full * (1 - Double.random(in: 0...min(1, jitter), using: &generator))
  }

  /// Whether an error may go away by itself: not a cancellation, and not an error of the framework that says that it
  /// comes again. Every other error counts as transient.
  public static let isTransient: @Sendable (any Error) -> Bool = { error in
    if error is CancellationError { return false }
    return (error as? CoherenceError)?.isRetryable ?? true
  }
}
