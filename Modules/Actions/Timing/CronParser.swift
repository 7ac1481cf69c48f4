import CoherenceCore

/// Parses the text of a cron expression.
struct CronParser {
  /// A part of the text.
  struct Word {
    let text: Substring
    /// The number of the first character in the whole text, from 1.
    let position: Int
  }

  /// The values of a field.
  struct Field {
    let name: String
    let range: ClosedRange<Int>
    var names: [String] = []

    static let minute = Field(name: "minute", range: 0...59)
    static let hour = Field(name: "hour", range: 0...23)
    static let day = Field(name: "day of the month", range: 1...31)
    static let month = Field(
      name: "month", range: 1...12,
      names: ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"])
    /// The value 7 is Sunday too.
    static let weekday = Field(
      name: "day of the week", range: 0...7, names: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"])

    var isWeekday: Bool { range.upperBound == 7 }
  }

  private static let shortcuts = [
    "@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
  ]

  private let text: String

  init(_ text: String) { self.text = text }

  func error(at position: Int, _ reason: String) -> CoherenceError {
    CoherenceError(.invalidSchedule, "The cron expression is invalid at character \(position): \(reason).")
  }

  /// Returns the five fields of the text.
  func fields() throws -> [Word] {
    let words = Self.words(of: text)
    if let first = words.first, first.text.hasPrefix("@") {
      if words.count == 1, let expansion = Self.shortcuts[first.text.lowercased()] { return Self.words(of: expansion) }
      let shortcutNames = Self.shortcuts.keys.sorted().joined(separator: ", ")
      throw error(at: first.position, "a text with @ must be the whole expression, one of \(shortcutNames)")
    }
    guard words.count == 5 else {
      let position = words.count > 5 ? words[5].position : text.count + 1
      throw error(
        at: position,
        "an expression has the five fields minute, hour, day of the month, month and day of the week, and the text has "
          + "\(words.count)")
    }
    return words
  }

  /// Returns the numbers that a field stands for.
  func numbers(of word: Word, _ field: Field) throws -> NumberSet {
    var numbers = NumberSet()
    for item in parts(of: word, separator: ",") {
      let parts = self.parts(of: item, separator: "/")
      guard parts.count <= 2 else {
        throw error(at: parts[2].position, "a second step follows the first; write one step")
      }
      let range = try self.range(of: parts[0], field, hasStep: parts.count == 2)
      let step = parts.count == 2 ? try self.step(parts[1], field) : 1
      for number in stride(from: range.lowerBound, through: range.upperBound, by: step) {
        numbers.insert(field.isWeekday ? number % 7 : number)
      }
    }
    return numbers
  }

  /// The range that an item of a field stands for, without its step.
  private func range(of word: Word, _ field: Field, hasStep: Bool) throws -> ClosedRange<Int> {
    // Of the week, the star includes Sunday twice, as 0 and as 7.
    if word.text == "*" { return field.range }
    let bounds = parts(of: word, separator: "-")
    guard bounds.count <= 2 else { throw error(at: bounds[2].position, "a range has two bounds") }
    let first = try value(bounds[0], field)
    guard bounds.count == 2 else {
      guard !hasStep else {
        throw error(
          at: word.position, "a step needs a range; write '\(first)-\(field.range.upperBound)/…' or '*/…'")
      }
      return first...first
    }
    var last = try value(bounds[1], field)
    // A week may end with Sunday.
    if field.isWeekday, last == 0, first > 0 { last = 7 }
    guard first <= last else { throw error(at: word.position, "the range begins after its end; write two ranges") }
    return first...last
  }

  private func value(_ word: Word, _ field: Field) throws -> Int {
    if let index = field.names.firstIndex(of: word.text.lowercased()) { return field.range.lowerBound + index }
    guard let value = number(word), field.range.contains(value) else {
      let names = field.names.isEmpty ? "" : ", or a name such as '\(field.names[1])'"
      throw error(
        at: word.position,
        "the \(field.name) is a number from \(field.range.lowerBound) to \(field.range.upperBound)\(names)")
    }
    return value
  }

  private func step(_ word: Word, _ field: Field) throws -> Int {
    guard let step = number(word), (1...field.range.count).contains(step) else {
      throw error(at: word.position, "the step of the \(field.name) is a number from 1 to \(field.range.count)")
    }
    return step
  }

  /// The number that digits alone form; `nil` for other text.
  private func number(_ word: Word) -> Int? {
    word.text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int(word.text) : nil
  }

  // MARK: Splitting

  private static func words(of text: String) -> [Word] {
    text.split { $0 == " " || $0 == "\t" }
      .map { Word(text: $0, position: text.distance(from: text.startIndex, to: $0.startIndex) + 1) }
  }

  /// Splits a word, keeping empty parts, which are faults at their position.
  private func parts(of word: Word, separator: Character) -> [Word] {
    let parts = word.text.split(separator: separator, omittingEmptySubsequences: false)
    return parts.map { part in
      Word(text: part, position: word.position + word.text.distance(from: word.text.startIndex, to: part.startIndex))
    }
  }
}
