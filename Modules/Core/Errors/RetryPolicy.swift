import Foundation

/// The greatest number of attempts of fallible work, and the delays between the attempts.
///
/// Actions and the retried background tasks of a container have a policy.
///
/// The delay grows by a factor from attempt to attempt, up to a maximum, and is shortened by a random part, so that
/// many clients that failed together do not return together: exponential backoff with jitter, see Marc Brooker,
/// "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
///
/// Between attempts the work occupies no thread. An action is pending then, and takes neither a place in its queue nor
/// a slot of its concurrency limit. Each attempt of an entity action or of a background task has a context of its own.
public struct RetryPolicy: Sendable {
  /// The maximum number of attempts, including the first; at least one.
  public var attempts: Int
  /// The delay between the first attempt and the second, before jitter.
  public var initialDelay: Duration
  /// The growth of the delay from attempt to attempt; at least one.
  public var factor: Double
  /// The longest delay between two attempts.
  public var maximumDelay: Duration
  /// The random part of the delay, from 0 for a fixed delay to 1 for a random delay between zero and the full delay.
  public var jitter: Double
  /// Returns whether another attempt follows an error. Called on any thread, after each failed attempt except the last.
  public var isRetryable: @Sendable (any Error) -> Bool

  /// Makes a policy. Values out of range are replaced by the nearest valid value.
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

  /// Returns the delay after a failed attempt.
  ///
  /// - Parameters:
  ///   - attempt: The number of the failed attempt; the first is 1.
  ///   - generator: The source of the random part.
  public func delay(afterAttempt attempt: Int, using generator: inout some RandomNumberGenerator) -> Duration {
    guard initialDelay > .zero else { return .zero }
    let longest = max(.zero, maximumDelay)
    // In seconds, as a `Double`: repeated growth overflows a `Duration`, and makes a `Double` infinite at most.
    let seconds = (initialDelay / .seconds(1)) * pow(max(1, factor), Double(max(1, attempt) - 1))
    let full = seconds < longest / .seconds(1) ? Duration.seconds(seconds) : longest
    guard jitter > 0 else { return full }
    return full * (1 - Double.random(in: 0...min(1, jitter), using: &generator))
  }

  /// Returns the delay after a failed attempt, with a random part of the system.
  package func delay(afterAttempt attempt: Int) -> Duration {
    var generator = SystemRandomNumberGenerator()
    return delay(afterAttempt: attempt, using: &generator)
  }

  /// Attempts in quick succession, for work that loses races to other writers of the same records: up to 16, with
  /// delays of a random part of 5 milliseconds at first and of half a second at most.
  public static let lostRaces = RetryPolicy(
    attempts: 16, initialDelay: .milliseconds(5), maximumDelay: .milliseconds(500), jitter: 1)

  /// Whether another attempt of the whole work may succeed, and writes nothing twice: false for a cancellation, for a
  /// ``CoherenceError`` whose ``CoherenceError/isRetryable`` is false, and for the error of a save that may have
  /// written changes, such as an ``ErrorCode/partialSave``. The ``CoherenceError/underlying`` error decides about an
  /// ``ErrorCode/objectUnavailable``: after a lost connection, another attempt loads the object. Every other error
  /// counts as transient.
  public static let isTransient: @Sendable (any Error) -> Bool = { error in
    if error is CancellationError { return false }
    guard let error = error as? CoherenceError else { return true }
    return error.mayPassInOtherContext && error.outcome == .notApplied && error.code != .partialSave
  }
}

extension CoherenceError {
  /// Whether the work that failed may pass in another context. The context of a lost change refuses every save until it
  /// is rolled back, so that the error itself is not retryable.
  fileprivate var mayPassInOtherContext: Bool {
    guard code == .objectUnavailable, !isRetryable else { return isRetryable }
    return (underlying as? CoherenceError).map { RetryPolicy.isTransient($0) } ?? false
  }
}
