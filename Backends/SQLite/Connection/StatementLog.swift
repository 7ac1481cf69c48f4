import Logging

/// Writes statements and their times to a log, without the values of their parameters.
struct StatementLog {
  private let logger: Logger
  private let isOn: Bool

  init(_ logger: Logger) {
    self.logger = logger
    isOn = logger.logLevel <= .debug
  }

  /// Runs a block, and logs the statement that it runs.
  @inline(__always) func timed<T>(_ text: @autoclosure () -> String, _ body: () throws -> T) rethrows -> T {
    guard isOn else { return try body() }
    let start = ContinuousClock.now
    defer { logger.debug("\(text())", metadata: ["duration": "\(ContinuousClock.now - start)"]) }
    return try body()
  }
}
