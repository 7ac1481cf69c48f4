import CoherenceActions
import Foundation
import TestRandom
import Testing

/// The dates of cron expressions where a clock is set forward or back.
@Suite("Schedules in time zones")
struct ScheduleTimeZoneTests {
  private func dates(_ expression: String, in zone: String, after text: String, _ count: Int) throws -> [String] {
    let schedule = try Schedule.cron(expression, timeZone: #require(TimeZone(identifier: zone)))
    var date = try Date(text, strategy: .iso8601)
    return try (0..<count).map { _ in
      date = try #require(schedule.nextDate(after: date))
      return date.ISO8601Format()
    }
  }

  @Test func `a fixed time keeps its place on the wall clock over the year`() throws {
    #expect(
      try dates("0 9 1 1,7 *", in: "Europe/Berlin", after: "2026-01-01T00:00:00Z", 2) == [
        "2026-01-01T08:00:00Z", "2026-07-01T07:00:00Z",
      ])
  }

  // In Berlin, 2:00 became 3:00 on 29 March 2026.
  @Test func `a fixed time in a skipped hour is due at the end of the hour, once`() throws {
    #expect(
      try dates("0,30 2 * * *", in: "Europe/Berlin", after: "2026-03-28T02:00:00Z", 3) == [
        "2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z", "2026-03-30T00:30:00Z",
      ])
  }

  @Test func `with a star for the hour, skipped times are omitted`() throws {
    #expect(
      try dates("30 * * * *", in: "Europe/Berlin", after: "2026-03-28T23:45:00Z", 3) == [
        "2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z", "2026-03-29T02:30:00Z",
      ])
  }

  // In Berlin, 3:00 became 2:00 on 25 October 2026.
  @Test func `a fixed time within a repeated hour is due at the first of its two times`() throws {
    #expect(
      try dates("30 2 * * *", in: "Europe/Berlin", after: "2026-10-24T12:00:00Z", 2) == [
        "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z",
      ])
  }

  @Test func `with a star for the hour, a time within a repeated hour is due at both of its times`() throws {
    #expect(
      try dates("30 * * * *", in: "Europe/Berlin", after: "2026-10-25T00:00:00Z", 3) == [
        "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-25T02:30:00Z",
      ])
  }

  // In St. John's, 0:01 became 23:01 of the day before on 28 October 1990.
  @Test func `when a time zone sets its clocks back over midnight, a schedule repeats the times of both days in order`()
    throws
  {
    #expect(
      try dates("0,30 * * * *", in: "America/St_Johns", after: "1990-10-28T01:50:00Z", 5) == [
        "1990-10-28T02:00:00Z", "1990-10-28T02:30:00Z", "1990-10-28T03:00:00Z", "1990-10-28T03:30:00Z",
        "1990-10-28T04:00:00Z",
      ])
    #expect(
      try dates("0 0 * * *", in: "America/St_Johns", after: "1990-10-27T12:00:00Z", 2) == [
        "1990-10-28T02:30:00Z", "1990-10-29T03:30:00Z",
      ])
  }

  // Samoa had no 30 December 2011.
  @Test func `a fixed time on a skipped day is due at the end of the day`() throws {
    #expect(
      try dates("0 12 * * *", in: "Pacific/Apia", after: "2011-12-29T22:00:00Z", 2) == [
        "2011-12-30T10:00:00Z", "2011-12-30T22:00:00Z",
      ])
  }

  @Test func `a search agrees with a look at every minute, for random expressions around changes of the clock`() throws
  {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededRandom(seed: seed)
    let zones = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "GMT"]
    let changes = ["2026-03-28T20:00:00Z", "2026-10-24T20:00:00Z", "2026-03-08T01:00:00Z", "2026-04-04T10:00:00Z"]
    for _ in 0..<30 {
      let zone = try #require(TimeZone(identifier: zones.randomElement(using: &random)!))
      let minute = "\(random.next(below: 60)),\(random.next(below: 60))"
      let weekdays = random.isTrue(0.5) ? "*" : "sun,mon,\(random.next(below: 7))"
      let expression = "\(minute) */\(random.next(below: 5) + 1) * * \(weekdays)"
      let start = try Date(changes.randomElement(using: &random)!, strategy: .iso8601)
      let date = start + Double(random.next(below: 36_000))
      let found = try Schedule.cron(expression, timeZone: zone).nextDate(after: date)
      let expected = firstMatch(of: expression, in: zone, after: date)
      #expect(found == expected, "\(expression) in \(zone.identifier) after \(date.ISO8601Format()), seed \(seed)")
    }
  }

  /// Returns the first minute within a week whose time on the wall clock matches an expression of the random test.
  private func firstMatch(of expression: String, in zone: TimeZone, after date: Date) -> Date? {
    let fields = expression.split(separator: " ")
    let minutes = fields[0].split(separator: ",").compactMap { Int($0) }
    let step = Int(fields[1].dropFirst(2)) ?? 1
    let weekdays = ["sun": 0, "mon": 1]
    let days =
      fields[4] == "*" ? Array(0..<7) : fields[4].split(separator: ",").compactMap { weekdays[String($0)] ?? Int($0) }
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = zone
    let first = (date.timeIntervalSince1970 / 60).rounded(.down) * 60 + 60
    return (0..<7 * 1440).lazy.map { Date(timeIntervalSince1970: first + Double($0 * 60)) }.first { minute in
      let parts = calendar.dateComponents([.minute, .hour, .weekday], from: minute)
      return minutes.contains(parts.minute ?? -1) && (parts.hour ?? -1) % step == 0
        && days.contains((parts.weekday ?? 0) - 1)
    }
  }
}
