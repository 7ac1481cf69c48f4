import CoherenceCore
import Dispatch
import Foundation
import Synchronization

/// A thread that polls for commits of other processes, and reports each change as a signal of every channel.
///
/// The log of a SQLite file does not say which channels a commit signals.
final class SQLiteCommitWatch: SignalSource {
  private let end = DispatchSemaphore(value: 0)
  private let hasVersion = Atomic<Bool>(false)

  /// The time between two polls.
  private static let interval = DispatchTimeInterval.milliseconds(100)

  /// Begins to watch.
  ///
  /// - Parameters:
  ///   - signals: Receives the changes, and the beginning of the watch. Not retained.
  ///   - prepare: Called on the watching thread, until it returns. The returned closure reads a number that differs
  ///     after a commit of another process, or `nil` after the file was closed.
  init(reportingTo signals: SignalHub, asking prepare: @escaping @Sendable () throws -> (() throws -> Int64?)) {
    Thread.detachNewThread { [weak self, weak signals, end] in
      var preparedRead: (() throws -> Int64?)?
      var last: Int64?
      repeat {
        do {
          let read = try preparedRead ?? prepare()
          preparedRead = read
          guard let version = try read() else { return }
          guard version != last else { continue }
          last = version
          self?.hasVersion.store(true, ordering: .releasing)
          signals?.signalAll()
        } catch {
          // The next poll reads the file again. Reads of the store report the error.
        }
      } while end.wait(timeout: .now() + Self.interval) == .timedOut
    }
  }

  var isListening: Bool { hasVersion.load(ordering: .acquiring) }

  func stop() { end.signal() }
}
