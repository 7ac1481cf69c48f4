import CoherenceCore

/// The retry policy of a persisted action: the number of its attempts, and the delays between them.
///
/// The delays are those of a `RetryPolicy` with the same values. An error with the trait `RetryAdvising` may ask for a
/// longer delay. The store keeps a policy that was given when the action was enqueued; for other actions, the policy of
/// the action's type at the time of the attempt applies. Between two attempts the action is
/// ``PersistedActionState/scheduled``.
public struct PersistedRetry: Codable, Sendable, Hashable {
  /// The maximum number of attempts, including the first; at least one. An attempt whose process ends counts too.
  public var attempts: Int
  /// The delay between the first attempt and the second, before jitter.
  public var initialDelay: Duration
  /// The factor by which the delay grows with each attempt; at least one.
  public var factor: Double
  /// The longest delay between two attempts.
  public var maximumDelay: Duration
  /// The random part of the delay, from 0 for a fixed delay to 1 for an entirely random delay.
  public var jitter: Double

  /// Makes a policy. Values out of range are replaced by the nearest valid value.
  public init(
    attempts: Int = 20, initialDelay: Duration = .seconds(5), factor: Double = 2,
    maximumDelay: Duration = .seconds(3600), jitter: Double = 0.5
  ) {
    self.attempts = max(1, attempts)
    self.initialDelay = max(.zero, initialDelay)
    self.factor = max(1, factor)
    self.maximumDelay = max(.zero, maximumDelay)
    self.jitter = min(1, max(0, jitter))
  }

  /// Twenty attempts with delays of 5 to 10.5 hours in all. The first delay is 2.5 to 5 seconds long, and the longest 30
  /// to 60 minutes.
  public static let standard = PersistedRetry()
  /// A single attempt.
  public static let never = PersistedRetry(attempts: 1)

  /// Returns the delay after a failed attempt.
  ///
  /// - Parameter attempt: The number of the failed attempt; the first is 1.
  func delay(afterAttempt attempt: Int) -> Duration {
    let policy = RetryPolicy(
      attempts: attempts, initialDelay: initialDelay, factor: factor, maximumDelay: maximumDelay, jitter: jitter)
    return policy.delay(afterAttempt: attempt)
  }
}
