import Foundation

/// A day of the Gregorian calendar, without a time zone.
struct CivilDay {
  /// The number of seconds of a day.
  static let seconds = 86_400

  /// The number of days since 1 January 1970.
  private(set) var number: Int
  private(set) var year: Int
  /// From 1 to 12.
  private(set) var month: Int
  /// From 1 to 31.
  private(set) var day: Int

  /// Makes the day of a local time, in seconds since the beginning of 1 January 1970 on the same clock.
  init(containing localSeconds: Int) {
    number = (localSeconds - (localSeconds % Self.seconds + Self.seconds) % Self.seconds) / Self.seconds
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = .gmt
    let noon = Date(timeIntervalSince1970: Double(number * Self.seconds + Self.seconds / 2))
    let components = calendar.dateComponents([.year, .month, .day], from: noon)
    (year, month, day) = (components.year ?? 1970, components.month ?? 1, components.day ?? 1)
  }

  /// The beginning of the day, in seconds since the beginning of 1 January 1970 on the same clock.
  var start: Int { number * Self.seconds }

  /// The day of the week; 0 is Sunday.
  var weekday: Int {
    // The first day of 1970 was a Thursday.
    (number % 7 + 11) % 7
  }

  /// The number of days in a month of the longest year.
  static func longestLength(ofMonth month: Int) -> Int { month == 2 ? 29 : [4, 6, 9, 11].contains(month) ? 30 : 31 }

  private var length: Int {
    guard month == 2 else { return Self.longestLength(ofMonth: month) }
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
  }

  /// Moves on to the next day.
  mutating func advance() {
    if day == length { return advanceToNextMonth() }
    day += 1
    number += 1
  }

  /// Moves on to the first day of the next month.
  mutating func advanceToNextMonth() {
    number += length - day + 1
    day = 1
    (year, month) = month == 12 ? (year + 1, 1) : (year, month + 1)
  }
}
