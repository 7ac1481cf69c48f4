import Logging

extension Logger {
  /// Writes nothing.
  package static var silent: Logger { Logger(label: "coherence.demo") { _ in SwiftLogNoOpLogHandler() } }

  /// Writes to standard error, so that standard output can be piped.
  package static var standardError: Logger {
    Logger(label: "coherence.demo") { label in StreamLogHandler.standardError(label: label) }
  }
}
