import Foundation

/// The time that a server asks for with `Retry-After`: a number of seconds, or a date.
struct RetryAfter {
  let duration: Duration

  /// `nil` for other text.
  ///
  /// - Parameters:
  ///   - replyDate: The text of the reply's `Date`. The date to wait for comes from the same clock, and the clock here
  ///     may differ by hours.
  ///   - now: The present date, in place of a `Date` that the reply lacks.
  init?(_ text: String, in replyDate: String?, now: Date) {
    let text = text.trimmingCharacters(in: .whitespaces)
    if Self.isNumber(text) {
      // A number above `Int.max` is still the wish of the server for a long delay.
      duration = .seconds(Int(text) ?? .max)
    } else if let date = HTTPDate(text)?.date {
      let sent = replyDate.flatMap { HTTPDate($0)?.date } ?? now
      duration = .seconds(max(0, date.timeIntervalSince(sent)))
    } else {
      return nil
    }
  }

  /// Whether the text is a number of seconds, which may have any number of digits.
  static func isNumber(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }
}
