import CoherenceActions

/// The number of attempts of a persisted action, and the delays between them, as stored values.
///
/// The delays grow as those of a `RetryPolicy` do. Between attempts the action is ``PersistedActionState/scheduled``.
public struct PersistedRetry: Codable, Sendable, Hashable {
  /// The maximum number of attempts, including the first; at least one. An attempt whose process ends counts too.
  public var attempts: Int
  /// The delay between the first attempt and the second, before jitter.
  public var initialDelay: Duration
  /// The growth of the delay from attempt to attempt; at least one.
  public var factor: Double
  /// The longest delay between two attempts.
  public var maximumDelay: Duration
  /// The random part of the delay: 0 for none, 1 for all of it.
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

  /// Twenty attempts in about half a day, the first delay being some seconds and the longest an hour.
  public static let standard = PersistedRetry()
  /// A single attempt.
  public static let never = PersistedRetry(attempts: 1)

  /// Returns the delay after a failed attempt.
  ///
  /// - Parameter attempt: The number of the failed attempt; the first is 1.
  func delay(afterAttempt attempt: Int) -> Duration {
    let policy = RetryPolicy(
      attempts: attempts, initialDelay: initialDelay, factor: factor, maximumDelay: maximumDelay, jitter: jitter)
    var generator = SystemRandomNumberGenerator()
    return policy.delay(afterAttempt: attempt, using: &generator)
  }
}
