import CoherenceSQL
import Foundation

extension SQLiteSession {
  /// Runs a statement that takes the right to write in the middle of its work, and repeats it while another connection
  /// has this right, up to the connection's time for waits.
  ///
  /// SQLite waits for the right to write only where a transaction begins. A transaction that has read fails at once,
  /// because two such transactions would wait for each other.
  func repeatingWhileLocked<T>(_ body: () throws -> T) throws -> T {
    let timeout = Duration.milliseconds(try integers("PRAGMA busy_timeout").first ?? 0)
    let deadline = ContinuousClock.now + timeout
    while true {
      do {
        return try body()
      } catch let failure as SQLiteFailure where failure.isOfLock && ContinuousClock.now < deadline {
        // A random time, so that two processes do not meet again and again.
        Thread.sleep(forTimeInterval: .random(in: 0.001...0.01))
      }
    }
  }

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
