public import Foundation

/// The dates at which work is due: after an interval, at the dates of a cron expression, or once.
///
/// ```swift
/// let nightly = try Schedule.cron("30 3 * * mon-fri", timeZone: .gmt, jitter: .seconds(300))
/// let often = Schedule.every(.seconds(600), jitter: .seconds(60))
/// ```
///
/// A schedule is a value without a state or a timer. Its user asks for the next date after the last run: after a pause
/// of a week, that date is past, and the work runs once. The following date counts from the time of that run.
public struct Schedule: Sendable, Hashable {
  private enum Kind: Hashable {
    case every(Duration)
    case cron(CronExpression, TimeZone)
    case at(Date)
  }

  private let kind: Kind
  private let jitter: Duration

  /// A date after each interval.
  ///
  /// - Parameters:
  ///   - interval: The time from one run to the next. An interval below one millisecond counts as one millisecond.
  ///   - jitter: The longest random delay after each date, so that many clients do not return together.
  public static func every(_ interval: Duration, jitter: Duration = .zero) -> Schedule {
    Schedule(kind: .every(max(interval, .milliseconds(1))), jitter: max(jitter, .zero))
  }

  /// The dates of a cron expression, after the rules of POSIX `crontab` with the extensions of common cron programs.
  ///
  /// The expression has five fields, separated by spaces:
  ///
  /// | field | values |
  /// |---|---|
  /// | minute | 0–59 |
  /// | hour | 0–23 |
  /// | day of month | 1–31 |
  /// | month | 1–12, or `jan`–`dec` |
  /// | day of week | 0–7, where 0 and 7 are Sunday, or `sun`–`sat` |
  ///
  /// A field is `*`, a value, a range `1-5`, a list `1,3,5-7`, or every n-th value of a range or of all: `10-50/20`,
  /// `*/15`. Names are accepted in any case. When both day fields are restricted, a day matches that satisfies one of
  /// them; a field that begins with `*` is not restricted, and both fields must match then. The texts `@hourly`,
  /// `@daily`, `@midnight`, `@weekly`, `@monthly`, `@yearly` and `@annually` stand for their expressions.
  ///
  /// The dates are times of a wall clock in the time zone. When the clock is set forward, a schedule with fixed hours
  /// is due at the end of the skipped time, and a schedule whose hour field begins with `*` omits the skipped times.
  /// When the clock is set back, a schedule with fixed hours is due at the first of the two equal times, and a schedule
  /// whose hour field begins with `*` at both.
  ///
  /// - Parameters:
  ///   - expression: The text.
  ///   - timeZone: The time zone of the wall clock.
  ///   - jitter: The longest random delay after each date.
  /// - Throws: ``ErrorCode/invalidSchedule`` with the position of the fault in the text, also for days that no month of
  ///   the expression has.
  public static func cron(
    _ expression: String, timeZone: TimeZone = .gmt, jitter: Duration = .zero
  ) throws -> Schedule {
    Schedule(kind: .cron(try CronExpression(expression), timeZone), jitter: max(jitter, .zero))
  }

  /// One date.
  public static func at(_ date: Date) -> Schedule { Schedule(kind: .at(date), jitter: .zero) }

  /// Returns the first date of the schedule after the given date, with a random delay up to the jitter.
  ///
  /// - Returns: `nil` after the date of ``at(_:)``, and for dates thousands of years away.
  public func nextDate(after date: Date) -> Date? {
    var generator = SystemRandomNumberGenerator()
    return nextDate(after: date, using: &generator)
  }

  /// Returns the first date of the schedule after the given date, with a delay from a source of random numbers.
  ///
  /// An interval costs an addition. A cron expression costs at most a look at each day of the months in its month
  /// field, over up to eight years for 29 February, and up to 40 years if the day of the week must match too.
  ///
  /// - Parameters:
  ///   - date: The date of the last run, or the present date.
  ///   - generator: The source of the delay. Unused without a jitter.
  /// - Returns: `nil` after the date of ``at(_:)``, and for dates thousands of years away.
  public func nextDate(after date: Date, using generator: inout some RandomNumberGenerator) -> Date? {
    guard let next = undelayedDate(after: date) else { return nil }
    guard jitter > .zero else { return next }
    return next + (jitter / .seconds(1)) * Double.random(in: 0...1, using: &generator)
  }

  /// Returns the latest date that ``nextDate(after:)`` may return: the first date after the given date, and the longest
  /// delay.
  package func latestNextDate(after date: Date) -> Date? {
    undelayedDate(after: date).map { $0 + jitter / .seconds(1) }
  }

  /// Returns the first date of the schedule after the given date, without a delay.
  package func undelayedDate(after date: Date) -> Date? {
    guard date.timeIntervalSince1970.isFinite else { return nil }
    switch kind {
    case .every(let interval): return date + interval / .seconds(1)
    case .cron(let expression, let timeZone): return expression.nextDate(after: date, in: timeZone)
    case .at(let only): return only > date ? only : nil
    }
  }
}

extension Schedule: CustomStringConvertible {
  /// The schedule as text, for lists and logs: `every 600 s`, `30 3 * * mon-fri GMT`, `at 2030-01-31T12:00:00Z`. The
  /// text has no jitter.
  public var description: String {
    switch kind {
    // With the 15 digits that every `Double` keeps: a persisted schedule compares the text, and an interval that rounds to
    // the same text would look unchanged.
    case .every(let interval): "every \(String(format: "%.15g", interval / .seconds(1))) s"
    case .cron(let expression, let timeZone): "\(expression.text) \(timeZone.identifier)"
    case .at(let date): "at \(date.ISO8601Format())"
    }
  }
}
