import CLibPQ
import CoherenceCore
import CoherenceSQL
import Foundation
import Logging
import Synchronization

/// A thread that waits for notifications of the server, on a connection outside of the pool.
///
/// The thread reconnects after a broken connection. Notifications between two connections are lost, so each new
/// connection signals every channel.
final class PostgreSQLListener: SignalSource {
  private let options: PostgreSQLOptions
  private let name: String
  private let logger: Logger
  private let isConnected = Atomic<Bool>(false)
  private let isStopped = Atomic<Bool>(false)
  /// The ends of a pipe that wakes the thread.
  private let wake: (reading: Int32, writing: Int32)

  /// The longest silence of the server before the connection is tested.
  private static let silence = Duration.seconds(60)

  /// Begins to listen.
  ///
  /// - Parameters:
  ///   - name: The name of the notifications. Their payloads are channels.
  ///   - signals: Receives the channels. Not retained.
  init(_ options: PostgreSQLOptions, name: String, reportingTo signals: SignalHub, logger: Logger) {
    self.options = options
    self.name = name
    self.logger = logger
    var ends: [Int32] = [-1, -1]
    // Without a pipe, the thread notices its end at the next test of the connection.
    _ = pipe(&ends)
    wake = (ends[0], ends[1])
    for end in ends where end >= 0 {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    Thread.detachNewThread { [weak signals] in
      self.run { channel in
        if let channel { signals?.signal(channel) } else { signals?.signalAll() }
      }
    }
  }

  deinit {
    for end in [wake.reading, wake.writing] where end >= 0 { close(end) }
  }

  var isListening: Bool { isConnected.load(ordering: .acquiring) }

  func stop() {
    isStopped.store(true, ordering: .releasing)
    var byte: UInt8 = 0
    // The full pipe of an earlier call wakes the thread too.
    _ = write(wake.writing, &byte, 1)
  }

  private var hasEnded: Bool { isStopped.load(ordering: .acquiring) }

  // MARK: The thread

  /// Listens until the end.
  ///
  /// - Parameter report: Receives the channel of each notification, and `nil` when all channels may have been
  ///   signalled.
  private func run(_ report: (String?) -> Void) {
    var failures = 0
    while !hasEnded {
      do {
        let connection = try PostgreSQLConnection.connect(options, logger: logger)
        try connection.run("LISTEN \(name: name)", isPrepared: false)
        failures = 0
        isConnected.store(true, ordering: .releasing)
        report(nil)
        try receive(on: connection, report)
      } catch {
        logger.debug("The PostgreSQL store does not listen to signals, and connects again: \(error.logText)")
      }
      isConnected.store(false, ordering: .releasing)
      failures += 1
      pause(after: failures)
    }
  }

  /// Reports notifications until the end.
  ///
  /// - Throws: ``ErrorCode/connectionLost``.
  private func receive(on connection: PostgreSQLConnection, _ report: (String?) -> Void) throws {
    while !hasEnded {
      while let notification = PQnotifies(connection.raw) {
        defer { PQfreemem(notification) }
        report(String(cString: notification.pointee.extra))
      }
      if isReadable(PQsocket(connection.raw), for: Self.silence) {
        guard PQconsumeInput(connection.raw) == 1, !connection.isBroken else { throw CoherenceError.connectionLost() }
      } else if !hasEnded {
        // A dead connection looks like a quiet one.
        try connection.within(.seconds(10)) { _ = try connection.run("SELECT 1") }
      }
    }
  }

  /// Waits after a failure, for a random time that grows with the number of failures to half a minute. Many programs
  /// therefore do not connect to a restarted server at once.
  private func pause(after failures: Int) {
    let longest = min(0.1 * Double(1 << min(failures, 10)), 30)
    let deadline = ContinuousClock.now + .seconds(.random(in: longest / 2...longest))
    while !hasEnded, ContinuousClock.now < deadline { _ = isReadable(-1, for: deadline - .now) }
  }

  /// Waits until a socket can be read, or the thread is woken.
  ///
  /// - Parameter socket: A negative number for no socket.
  /// - Returns: Whether the socket can be read, or has failed. `false` if only the time has ended, the thread was
  ///   woken, or a signal of the system interrupted the wait.
  private func isReadable(_ socket: Int32, for duration: Duration) -> Bool {
    var descriptors = [
      pollfd(fd: wake.reading, events: Int16(POLLIN), revents: 0),
      pollfd(fd: socket, events: Int16(POLLIN), revents: 0),
    ]
    let milliseconds = max(1, min(duration / .milliseconds(1), 60_000))
    return poll(&descriptors, 2, Int32(milliseconds)) > 0 && descriptors[1].revents != 0
  }
}
