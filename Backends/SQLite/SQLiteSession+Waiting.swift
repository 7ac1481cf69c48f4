import CoherenceSQL

extension SQLiteSession {
  /// Runs a block whose statements wait for other processes up to a time.
  ///
  /// - Parameter timeout: The longest wait, in place of the connection's; `nil` for the connection's.
  func waitingForOthers(atMost timeout: Duration?, _ body: () throws -> Void) throws {
    guard let timeout else { return try body() }
    let usual = try integers("PRAGMA busy_timeout").first ?? 0
    let milliseconds = Int(min(max(timeout / .milliseconds(1), 0), Double(Int32.max)))
    _ = try integers("PRAGMA busy_timeout = \(number: milliseconds)")
    defer { _ = try? integers("PRAGMA busy_timeout = \(number: Int(usual))") }
    try body()
  }
}
