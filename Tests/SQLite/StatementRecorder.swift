import Logging
import Synchronization

/// Keeps the statements that are logged.
final class StatementRecorder: Sendable {
  private let messages = Mutex<[String]>([])

  /// The statements that read records.
  var reads: [String] { messages.withLock { $0.filter { $0.hasPrefix("SELECT") } } }

  func removeAll() { messages.withLock { $0 = [] } }

  var logger: Logger {
    var logger = Logger(label: "test", factory: { _ in Handler(recorder: self) })
    logger.logLevel = .debug
    return logger
  }

  private struct Handler: LogHandler {
    let recorder: StatementRecorder
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.debug

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { recorder.messages.withLock { $0.append("\(event.message)") } }
  }
}
