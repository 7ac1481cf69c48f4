import CoherenceActions
import CoherenceCore
import Foundation
import TestRandom
import Testing

@Suite("Schedules")
struct ScheduleTests {
  /// The dates of a schedule after a date, as texts.
  private func dates(_ schedule: Schedule, after text: String, _ count: Int) throws -> [String] {
    var date = try Date(text, strategy: .iso8601)
    return try (0..<count).map { _ in
      date = try #require(schedule.nextDate(after: date))
      return date.ISO8601Format()
    }
  }

  private func dates(
    _ expression: String, in zone: String = "GMT", after text: String, _ count: Int = 1
  ) throws -> [String] {
    try dates(.cron(expression, timeZone: #require(TimeZone(identifier: zone))), after: text, count)
  }

  // MARK: Intervals and single dates

  @Test func `an interval is due after each interval, and an interval below a millisecond counts as one`() {
    let date = Date(timeIntervalSince1970: 1_000)
    #expect(Schedule.every(.seconds(600)).nextDate(after: date) == date + 600)
    #expect(Schedule.every(.seconds(-5)).nextDate(after: date) == date + 0.001)
  }

  @Test func `a single date is due once`() {
    let date = Date(timeIntervalSince1970: 1_000)
    #expect(Schedule.at(date).nextDate(after: date - 1) == date)
    #expect(Schedule.at(date).nextDate(after: date) == nil)
  }

  @Test func `a jitter adds a delay from the given source, up to its length`() throws {
    let date = Date(timeIntervalSince1970: 1_000)
    let schedules = [Schedule.every(.seconds(600), jitter: .seconds(60)), try .cron("* * * * *", jitter: .seconds(60))]
    for schedule in schedules {
      var (one, other) = (SeededRandom(seed: 7), SeededRandom(seed: 7))
      let dates = (0..<50).compactMap { _ in schedule.nextDate(after: date, using: &one) }
      #expect(dates == (0..<50).compactMap { _ in schedule.nextDate(after: date, using: &other) })
      #expect(Set(dates).count > 40)
      let (first, last) = (try #require(dates.min()), try #require(dates.max()))
      #expect(last.timeIntervalSince(first) <= 60)
      #expect(last.timeIntervalSince(first) > 10)
    }
  }

  @Test func `a schedule missed for a week is due once, and then counts from the present`() throws {
    let schedule = try Schedule.cron("0 5 * * *")
    let lastRun = try Date("2026-03-01T05:00:00Z", strategy: .iso8601)
    let now = try Date("2026-03-08T12:00:00Z", strategy: .iso8601)
    #expect(try #require(schedule.nextDate(after: lastRun)) <= now)
    #expect(try #require(schedule.nextDate(after: now)) > now)
  }

  @Test func `infinite and absurd dates have no next date`() throws {
    let schedule = try Schedule.cron("0 5 * * *")
    for seconds in [Double.infinity, -.infinity, .nan, 1e300, -1e300] {
      #expect(schedule.nextDate(after: Date(timeIntervalSince1970: seconds)) == nil)
    }
    #expect(Schedule.every(.seconds(1)).nextDate(after: Date(timeIntervalSince1970: .infinity)) == nil)
  }

  @Test func `a schedule describes itself`() throws {
    #expect(Schedule.every(.seconds(600)).description == "every 600 s")
    #expect(Schedule.every(.milliseconds(100)).description == "every 0.1 s")
    #expect(try Schedule.cron("30 3 * * mon-fri").description == "30 3 * * mon-fri GMT")
    let date = Date(timeIntervalSince1970: 0)
    #expect(Schedule.at(date).description == "at 1970-01-01T00:00:00Z")
  }

  @Test func `schedules with different intervals have different texts`() {
    #expect(Schedule.every(.seconds(2_592_000)).description == "every 2592000 s")
    #expect(Schedule.every(.seconds(2_592_060)).description == "every 2592060 s")
  }

  @Test func `the example of the article gives a weekday at half past three`() throws {
    let lastRun = try Date("2026-03-06T12:00:00Z", strategy: .iso8601)
    let nightly = try Schedule.cron("30 3 * * mon-fri", timeZone: .gmt, jitter: .seconds(300))
    let often = Schedule.every(.seconds(600), jitter: .seconds(60))
    let next = nightly.nextDate(after: lastRun)
    let monday = try Date("2026-03-09T03:30:00Z", strategy: .iso8601)
    #expect((monday...monday + 300).contains(try #require(next)))
    #expect((lastRun + 600...lastRun + 660).contains(try #require(often.nextDate(after: lastRun))))
  }

  // MARK: Fields

  @Test(arguments: [
    ("* * * * *", "2026-01-01T00:01:00Z"), ("*/15 * * * *", "2026-01-01T00:15:00Z"),
    ("5-20/10 * * * *", "2026-01-01T00:05:00Z"), ("0 4,2 * * *", "2026-01-01T02:00:00Z"),
    ("0 0 * * *", "2026-01-02T00:00:00Z"), ("0 0 1 * *", "2026-02-01T00:00:00Z"),
    ("0 0 31 * *", "2026-01-31T00:00:00Z"), ("0 0 31 FEB-apr *", "2026-03-31T00:00:00Z"),
    ("0 0 * * sun", "2026-01-04T00:00:00Z"), ("0 0 * * 7", "2026-01-04T00:00:00Z"),
    ("0 0 * * 0", "2026-01-04T00:00:00Z"), ("0 0 * * fri-sun", "2026-01-02T00:00:00Z"),
    ("0 0 * * 5-7/2", "2026-01-02T00:00:00Z"), ("0 0 29 2 *", "2028-02-29T00:00:00Z"),
    ("  0\t12 *  * *  ", "2026-01-01T12:00:00Z"), ("@hourly", "2026-01-01T01:00:00Z"),
    ("@daily", "2026-01-02T00:00:00Z"), ("@weekly", "2026-01-04T00:00:00Z"), ("@monthly", "2026-02-01T00:00:00Z"),
    ("@Yearly", "2027-01-01T00:00:00Z"), ("@midnight", "2026-01-02T00:00:00Z"), ("@annually", "2027-01-01T00:00:00Z"),
    ("0 0 2 jan *", "2026-01-02T00:00:00Z"), ("0 0 1 DEC *", "2026-12-01T00:00:00Z"),
    ("0 0 * * sat", "2026-01-03T00:00:00Z"), ("0 0 * * sat-7", "2026-01-03T00:00:00Z"),
    ("0 0 * * */7", "2026-01-04T00:00:00Z"), ("59 23 * * *", "2026-01-01T23:59:00Z"),
    ("*/60 * * * *", "2026-01-01T01:00:00Z"), ("0 */24 * * *", "2026-01-02T00:00:00Z"),
    ("0 0 30-31 * *", "2026-01-30T00:00:00Z"), ("0 0 1-31/31 11-12 *", "2026-11-01T00:00:00Z"),
    ("0 0 * * 0-0", "2026-01-04T00:00:00Z"),
  ])
  func `an expression is due at the first matching minute`(expression: String, date: String) throws {
    #expect(try dates(expression, after: "2026-01-01T00:00:00Z") == [date])
  }

  @Test func `the last day of February is found over the year 2100`() throws {
    #expect(try dates("0 0 29 2 *", after: "2096-03-01T00:00:00Z") == ["2104-02-29T00:00:00Z"])
  }

  @Test func `the last day of February is found in the year 2000`() throws {
    #expect(try dates("0 0 29 2 *", after: "1999-03-01T00:00:00Z") == ["2000-02-29T00:00:00Z"])
  }

  @Test func `the last day of February on a Sunday is found forty years later, over the year 2100`() throws {
    #expect(try dates("0 0 29 2 */7", after: "2088-02-29T00:00:00Z") == ["2128-02-29T00:00:00Z"])
  }

  @Test func `every day of a leap year and of the next year is found once, in order`() throws {
    let first = try Date("2023-12-31T06:30:00Z", strategy: .iso8601)
    var date = first
    let schedule = try Schedule.cron("30 6 * * *")
    for day in 1...731 {
      date = try #require(schedule.nextDate(after: date))
      #expect(date == first + Double(day) * 86_400)
    }
    #expect(try dates("30 6 31 * *", after: "2024-03-31T12:00:00Z") == ["2024-05-31T06:30:00Z"])
    #expect(try dates("30 6 31 * *", after: "2024-10-31T12:00:00Z") == ["2024-12-31T06:30:00Z"])
  }

  @Test func `days of the week and times are found before 1970 too`() throws {
    #expect(
      try dates("0 12 * * sun", after: "1969-12-01T13:00:00Z", 2) == ["1969-12-07T12:00:00Z", "1969-12-14T12:00:00Z"])
    #expect(try dates("0 12 * * mon", after: "1969-12-01T11:00:00Z") == ["1969-12-01T12:00:00Z"])
  }

  @Test func `a day satisfies one of two restricted day fields, and both when one begins with a star`() throws {
    #expect(
      try dates("0 0 13 * fri", after: "2026-02-01T00:00:00Z", 4) == [
        "2026-02-06T00:00:00Z", "2026-02-13T00:00:00Z", "2026-02-20T00:00:00Z", "2026-02-27T00:00:00Z",
      ])
    #expect(
      try dates("0 0 13 * mon", after: "2026-02-01T00:00:00Z", 3) == [
        "2026-02-02T00:00:00Z", "2026-02-09T00:00:00Z", "2026-02-13T00:00:00Z",
      ])
    // The first, eleventh, 21st and 31st, if they are Mondays.
    #expect(try dates("0 0 */10 * mon", after: "2026-02-01T00:00:00Z") == ["2026-05-11T00:00:00Z"])
  }

  @Test func `seconds within a minute do not matter, and a due minute is not due again`() throws {
    #expect(try dates("30 5 * * *", after: "2026-01-01T05:29:59Z") == ["2026-01-01T05:30:00Z"])
    #expect(try dates("30 5 * * *", after: "2026-01-01T05:30:00Z") == ["2026-01-02T05:30:00Z"])
    let date = Date(timeIntervalSince1970: -0.5)
    #expect(try Schedule.cron("* * * * *").nextDate(after: date) == Date(timeIntervalSince1970: 0))
  }

  // MARK: Faults

  @Test(arguments: [
    ("", 1), ("* * * *", 8), ("* * * * * *", 11), ("60 * * * *", 1), ("* 24 * * *", 3), ("* * 0 * *", 5),
    ("* * * 13 *", 7), ("* * * * 8", 9), ("*/0 * * * *", 3), ("*/61 * * * *", 3), ("1,,2 * * * *", 3),
    ("5-1 * * * *", 1), ("1-2-3 * * * *", 5), ("1/2 * * * *", 1), ("*/2/3 * * * *", 5), ("* * * foo *", 7),
    ("-5 * * * *", 1), ("+5 * * * *", 1), ("99999999999999999999 * * * *", 1), ("1- * * * *", 3),
    ("0 0 30 2 *", 5), ("0 0 31 2,4,jun *", 5), ("0 0 31 9,11 *", 5), ("@reboot", 1), ("@daily 5", 1),
    ("* * * * mon-foo", 13),
    ("٣ * * * *", 1),
  ])
  func `an invalid expression is refused with the position of its fault`(expression: String, position: Int) {
    #expect { try Schedule.cron(expression) } throws: { error in
      ErrorCode.invalidSchedule ~= error && "\(error)".contains("at character \(position): ")
    }
  }

  @Test(arguments: [
    ("60 * * * *", "the minute is a number from 0 to 59."),
    ("* * 32 * *", "the day of the month is a number from 1 to 31."),
    ("* * * 0 *", "the month is a number from 1 to 12, or a name such as 'feb'."),
    ("* * * * 8", "the day of the week is a number from 0 to 7, or a name such as 'mon'."),
    ("* */25 * * *", "the step of the hour is a number from 1 to 24."), ("* 7/2 * * *", "write '7-23/…' or '*/…'."),
    ("* * *", "and the text has 3."),
    ("@never", "one of @annually, @daily, @hourly, @midnight, @monthly, @weekly, @yearly."),
  ])
  func `the error of an invalid expression names the valid values`(expression: String, ending: String) throws {
    let error = try #require(throws: CoherenceError.self) { try Schedule.cron(expression) }
    #expect(error.message.hasSuffix(ending), "\(error.message)")
  }

  @Test func `a day that no month has is allowed beside a day of the week`() throws {
    #expect(try dates("0 0 30 2 sun", after: "2026-02-02T00:00:00Z") == ["2026-02-08T00:00:00Z"])
  }
}
