public import HTTPTypes

/// The conditions, the delays and the number of repeated requests.
///
/// The maximum delay doubles from attempt to attempt, and the delay is random between zero and that maximum ("full jitter",
/// after M. Brooker, "Exponential Backoff and Jitter", 2015), so that clients that failed together do not return together.
/// The delay is never shorter than the server's `Retry-After`.
public struct HTTPRetryPolicy: Sendable {
  /// The maximum number of attempts, including the first; a number below one counts as one.
  public var attempts = 4
  /// The retryable statuses.
  public var statuses: Set<Int> = [429, 502, 503, 504]
  /// The maximum delay before the second attempt.
  public var firstDelay = Duration.milliseconds(500)
  /// The maximum delay between two attempts, except for a longer `Retry-After`.
  public var longestDelay = Duration.seconds(30)
  /// The longest accepted `Retry-After`. A longer one ends the attempts.
  public var longestRetryAfter = Duration.seconds(120)
  /// The methods of repeatable requests. Requests of other methods are repeated only after a 429, with which the server
  /// states that it has not processed the request.
  public var methods: Set<HTTPRequest.Method> = [.get, .head, .options, .trace, .put, .delete]

  /// Makes a policy.
  ///
  /// - Parameter attempts: The maximum number of attempts, including the first; a number below one counts as one.
  public init(attempts: Int = 4) { self.attempts = max(attempts, 1) }

  /// A policy of one attempt.
  public static let never = HTTPRetryPolicy(attempts: 1)

  /// The delay before the next attempt.
  ///
  /// - Parameters:
  ///   - attempt: The number of the failed attempt; the first is 1.
  ///   - random: A number from 0 to below 1.
  func backoff(after attempt: Int, random: Double) -> Duration {
    // Thirty doublings exceed every sensible maximum, and do not overflow.
    let ceiling = min(firstDelay * Double(1 << min(attempt - 1, 30)), longestDelay)
    return ceiling * random
  }

  /// Whether a request with a method is safe to repeat.
  ///
  /// - Parameter status: The status of the reply; `nil` after an error without a reply, after which the server may have
  ///   processed the request.
  func allows(_ method: HTTPRequest.Method, after status: Int?) -> Bool {
    methods.contains(method) || status == 429
  }
}
