/// A statement of a save, by its first word, and the number of its runs.
package struct StatementRun: Equatable, Sendable, CustomStringConvertible {
  package let verb: String
  package let times: Int

  package init(_ verb: String, _ times: Int) {
    self.verb = verb
    self.times = times
  }

  /// - Parameter message: A message of the log. Messages of other statements give `nil`.
  init?(_ message: String) {
    let parts = message.split(separator: " ")
    guard let end = parts.firstIndex(of: "times"), end >= 2, parts[end - 2] == "--", let times = Int(parts[end - 1])
    else { return nil }
    self.init(String(parts[0]), times)
  }

  package var description: String { "\(verb) × \(times)" }
}

extension MessageLog {
  /// The statements of saves in a SQLite store.
  package var runs: [StatementRun] { messages.compactMap(StatementRun.init) }
}
