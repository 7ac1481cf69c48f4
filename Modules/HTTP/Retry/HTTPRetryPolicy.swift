import Foundation
public import HTTPTypes

/// When and how often a request is sent again.
///
/// The time between two attempts doubles from attempt to attempt and is drawn at random from zero up to that ("full
/// jitter", after M. Brooker, "Exponential Backoff and Jitter", 2015), so that clients that failed together do not come
/// back together. What the server asks for with `Retry-After` is never undercut.
public struct HTTPRetryPolicy: Sendable {
  /// How often a request is sent at most, the first time included.
  public var attempts = 4
  /// The statuses after which a request is sent again.
  public var statuses: Set<Int> = [429, 502, 503, 504]
  /// The longest time before the second attempt.
  public var firstDelay = Duration.milliseconds(500)
  /// The longest time that the client itself puts between two attempts.
  public var longestDelay = Duration.seconds(30)
  /// The longest `Retry-After` that is waited for. A server that asks for more gets no further attempt.
  public var longestRetryAfter = Duration.seconds(120)
  /// Methods that are sent again. A request of another method is sent again only after a 429, which says that it was
  /// not acted on.
  public var methods: Set<HTTPRequest.Method> = [.get, .head, .options, .trace, .put, .delete]

  public init(attempts: Int = 4) { self.attempts = max(attempts, 1) }

  /// One attempt only.
  public static let never = HTTPRetryPolicy(attempts: 1)

  /// How long to wait before the next attempt.
  ///
  /// - Parameters:
  ///   - attempt: The number of the attempt that failed, from 1.
  ///   - random: From 0 to below 1.
  func backoff(after attempt: Int, random: Double) -> Duration {
    // Beyond some thirty doublings every limit is reached.
    let ceiling = min(firstDelay * Double(1 << min(attempt - 1, 30)), longestDelay)
    return ceiling * random
  }

  func allows(_ method: HTTPRequest.Method, after status: Int?) -> Bool {
    methods.contains(method) || status == 429
  }
}

/// The time that a server asks for with `Retry-After`: a number of seconds, or a date.
struct RetryAfter {
  let duration: Duration

  /// `nil` for text that is neither.
  init?(_ text: String, now: Date) {
    let text = text.trimmingCharacters(in: .whitespaces)
    if let seconds = Int(text), seconds >= 0 {
      duration = .seconds(seconds)
    } else if let date = HTTPDate(text)?.date {
      duration = .seconds(max(0, date.timeIntervalSince(now)))
    } else {
      return nil
    }
  }
}

/// A point in time as HTTP writes it: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, 5.6.7).
struct HTTPDate {
  let date: Date

  init?(_ text: String) {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(secondsFromGMT: 0)
    formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
    guard let date = formatter.date(from: text) else { return nil }
    self.date = date
  }
}
