import Logging
import Synchronization

/// Keeps what is logged.
final class LogRecorder: Sendable {
  private let entries = Mutex<[(level: Logger.Level, text: String)]>([])

  var logger: Logger { Logger(label: "test") { _ in Handler(recorder: self) } }

  /// The messages of a level, with their metadata.
  func texts(_ level: Logger.Level) -> [String] {
    entries.withLock { $0.filter { $0.level == level }.map(\.text) }
  }

  private struct Handler: LogHandler {
    let recorder: LogRecorder
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?
    var logLevel = Logger.Level.trace

    init(recorder: LogRecorder) { self.recorder = recorder }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      recorder.entries.withLock {
        $0.append((event.level, "\(event.message) \(event.metadata ?? [:]) \(event.error.map { "\($0)" } ?? "")"))
      }
    }
  }
}
