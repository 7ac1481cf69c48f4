/// A cron expression: the minutes, hours and days at which work is due.
struct CronExpression: Hashable, Sendable {
  /// The text as the program gave it.
  let text: String
  let minutes: NumberSet
  let hours: NumberSet
  /// The days of the month.
  let days: NumberSet
  let months: NumberSet
  /// The days of the week; 0 is Sunday.
  let weekdays: NumberSet
  /// Whether the hour field begins with a number. Each of its times then stands for one run of the day, even if a
  /// change of the clock skips or repeats the time.
  let hasFixedHours: Bool
  /// Whether the field of the days of the month is restricted: a field without a `*` at its beginning.
  let restrictsDays: Bool
  /// Whether the field of the days of the week is restricted.
  let restrictsWeekdays: Bool

  /// Parses a text.
  ///
  /// - Throws: ``ErrorCode/invalidSchedule`` with the position of the fault.
  init(_ text: String) throws {
    let parser = CronParser(text)
    let words = try parser.fields()
    self.text = text
    minutes = try parser.numbers(of: words[0], .minute)
    hours = try parser.numbers(of: words[1], .hour)
    days = try parser.numbers(of: words[2], .day)
    months = try parser.numbers(of: words[3], .month)
    weekdays = try parser.numbers(of: words[4], .weekday)
    hasFixedHours = words[1].text.first != "*"
    restrictsDays = words[2].text.first != "*"
    restrictsWeekdays = words[4].text.first != "*"
    if hasPossibleDay { return }
    throw parser.error(at: words[2].position, "no month of the expression has such a day; correct the day or the month")
  }

  private var hasPossibleDay: Bool {
    guard restrictsDays, !restrictsWeekdays, let first = days.first(from: 1) else { return true }
    return months.numbers.contains { first <= CivilDay.longestLength(ofMonth: $0) }
  }

  /// Whether work is due on a day.
  func matches(_ day: CivilDay) -> Bool {
    guard months.contains(day.month) else { return false }
    let (matchesDay, matchesWeekday) = (days.contains(day.day), weekdays.contains(day.weekday))
    return restrictsDays && restrictsWeekdays ? matchesDay || matchesWeekday : matchesDay && matchesWeekday
  }

  /// Returns the first due minute of a day from a minute on; both count from midnight.
  func firstMinute(from minute: Int) -> Int? {
    let (hour, minuteOfHour) = (minute / 60, minute % 60)
    if hours.contains(hour), let found = minutes.first(from: minuteOfHour) { return hour * 60 + found }
    guard let later = hours.first(from: hour + 1), let found = minutes.first(from: 0) else { return nil }
    return later * 60 + found
  }
}
