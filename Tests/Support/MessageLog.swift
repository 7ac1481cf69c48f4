package import Logging
import Synchronization

/// Keeps the logged messages.
package final class MessageLog: Sendable {
  private let entries = Mutex<[(level: Logger.Level, text: String)]>([])

  private let observer: @Sendable (String) -> Void

  /// - Parameter observer: Called with each message, on the thread that logs the message.
  package init(observer: @escaping @Sendable (String) -> Void = { _ in }) { self.observer = observer }

  package var logger: Logger { Logger(label: "test") { _ in Handler(log: self) } }

  /// The messages, with their metadata.
  package var messages: [String] { entries.withLock { $0.map(\.text) } }
  /// The statements that read records.
  package var reads: [String] { messages.filter { $0.hasPrefix("SELECT") || $0.hasPrefix("COPY (SELECT") } }

  /// The messages of a level, with their metadata.
  package func texts(_ level: Logger.Level) -> [String] {
    entries.withLock { $0.filter { $0.level == level }.map(\.text) }
  }

  package func removeAll() { entries.withLock { $0 = [] } }

  private struct Handler: LogHandler {
    let log: MessageLog
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    init(log: MessageLog) { self.log = log }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      log.observer("\(event.message)")
      log.entries.withLock {
        $0.append((event.level, "\(event.message) \(event.metadata ?? [:]) \(event.error.map { "\($0)" } ?? "")"))
      }
    }
  }
}
