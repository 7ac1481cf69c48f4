import Foundation

// Local times are seconds since the beginning of 1 January 1970 on the clock of the time zone; instants are seconds since
// 1970 in GMT. A local time is an instant plus the zone's offset at that instant.

extension CronExpression {
  /// The length of the longest search. The rarest date, 29 February on a certain day of the week, repeats after 40
  /// years at the latest.
  private static let searchedYears = 40

  /// Returns the first due date after the given date.
  func nextDate(after date: Date, in timeZone: TimeZone) -> Date? {
    let seconds = date.timeIntervalSince1970
    // Some thousand years, within which the calculation cannot overflow.
    guard abs(seconds) < 1e11 else { return nil }
    let instant = Int(seconds.rounded(.down))
    // A day early, because the clock may be set back over midnight.
    var day = CivilDay(containing: instant + timeZone.offset(at: instant) - CivilDay.seconds)
    let lastYear = day.year + Self.searchedYears
    while day.year <= lastYear {
      guard months.contains(day.month) else {
        day.advanceToNextMonth()
        continue
      }
      let clock = DayClock(day, in: timeZone)
      if matches(day), let found = firstInstant(on: clock, after: instant) {
        return Date(timeIntervalSince1970: Double(earlier(found, onDayAfter: clock, after: instant)))
      }
      day.advance()
    }
    return nil
  }

  private func firstInstant(on clock: DayClock, after instant: Int) -> Int? {
    guard let offset = clock.constantOffset else { return firstInstant(onChanging: clock, after: instant) }
    let passed = instant + offset - clock.day.start
    return firstMinute(from: passed < 0 ? 0 : passed / 60 + 1).map { clock.day.start + $0 * 60 - offset }
  }

  /// The first due instant of a day near a change of the clock.
  private func firstInstant(onChanging clock: DayClock, after instant: Int) -> Int? {
    let localTimes = hours.numbers.flatMap { hour in minutes.numbers.map { clock.day.start + (hour * 60 + $0) * 60 } }
    return localTimes.flatMap { dueInstants(at: $0, clock) }.filter { $0 > instant }.min()
  }

  /// The instants at which a local time is due: usually one, none or one for a skipped time, one or two for a repeated time.
  private func dueInstants(at local: Int, _ clock: DayClock) -> [Int] {
    let instants = clock.instants(of: local)
    if instants.isEmpty { return hasFixedHours ? [clock.endOfGap(around: local)] : [] }
    return hasFixedHours ? Array(instants.prefix(1)) : instants
  }

  /// When the clock is set back over midnight, a time of the next day may come before a repeated time of this day.
  private func earlier(_ found: Int, onDayAfter clock: DayClock, after instant: Int) -> Int {
    guard clock.constantOffset == nil else { return found }
    var next = clock.day
    next.advance()
    guard matches(next) else { return found }
    return min(found, firstInstant(on: DayClock(next, in: clock.timeZone), after: instant) ?? found)
  }
}

/// The wall clock of a time zone around one day.
private struct DayClock {
  let day: CivilDay
  let timeZone: TimeZone
  /// The offsets before and after the day, far enough that every time of the day has one of them.
  private let offsets: (before: Int, after: Int)

  init(_ day: CivilDay, in timeZone: TimeZone) {
    self.day = day
    self.timeZone = timeZone
    offsets = (
      timeZone.offset(at: day.start - CivilDay.seconds), timeZone.offset(at: day.start + 2 * CivilDay.seconds)
    )
  }

  /// The offset of all times of the day; `nil` near a change of the clock.
  var constantOffset: Int? { offsets.before == offsets.after ? offsets.before : nil }

  /// The instants at which the clock shows a local time, in their order.
  func instants(of local: Int) -> [Int] {
    [local - offsets.before, local - offsets.after].sorted().filter { $0 + timeZone.offset(at: $0) == local }
  }

  /// The first instant after the gap in which a local time is skipped.
  func endOfGap(around local: Int) -> Int {
    // The clock is set forward after `low` and not after `high`.
    var low = local - max(offsets.before, offsets.after)
    var high = local - min(offsets.before, offsets.after)
    while high - low > 1 {
      let middle = low + (high - low) / 2
      if timeZone.offset(at: middle) == offsets.after { high = middle } else { low = middle }
    }
    return high
  }
}

extension TimeZone {
  /// The seconds by which the zone's clock is ahead of GMT.
  fileprivate func offset(at instant: Int) -> Int {
    secondsFromGMT(for: Date(timeIntervalSince1970: Double(instant)))
  }
}
