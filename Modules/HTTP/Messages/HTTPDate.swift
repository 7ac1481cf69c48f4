import Foundation

/// A point in time as HTTP writes it: `Sun, 06 Nov 1994 08:49:37 GMT`, or one of the two obsolete forms that a recipient
/// must accept, `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun Nov  6 08:49:37 1994` (RFC 9110, 5.6.7).
struct HTTPDate {
  let date: Date

  private static let formats = [
    "EEE, dd MMM yyyy HH:mm:ss zzz", "EEEE, dd-MMM-yy HH:mm:ss zzz", "EEE MMM d HH:mm:ss yyyy",
  ]

  /// `nil` for text in another form.
  init?(_ text: String) {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(secondsFromGMT: 0)
    // A year of two digits is at most 50 years in the future.
    formatter.twoDigitStartDate = Date(timeIntervalSinceNow: -50 * 365.25 * 86_400)
    for format in Self.formats {
      formatter.dateFormat = format
      guard let date = formatter.date(from: text) else { continue }
      self.date = date
      return
    }
    return nil
  }
}
