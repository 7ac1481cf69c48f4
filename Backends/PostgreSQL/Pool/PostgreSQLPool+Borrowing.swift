import CoherenceCore
import Foundation

extension PostgreSQLPool {
  /// The use of a borrowed connection, which determines the permit that it takes.
  enum Purpose: Sendable {
    case reading, saving
    /// Reading in a state that outlives units of work.
    case lasting
  }

  /// A reader with a connection, and the thread that reads. An object, because a copy of a weak reference costs more
  /// than the comparison of the threads, and the pool compares the threads of all readers under its lock.
  final class Reading {
    /// The reader; `nil` while it is deinitialised and returns its connection.
    private(set) weak var reader: PostgreSQLReader?
    private let thread: pthread_t

    init(_ reader: PostgreSQLReader, on thread: pthread_t) {
      self.reader = reader
      self.thread = thread
    }

    /// Whether the calling thread reads.
    var isOwn: Bool { pthread_equal(thread, pthread_self()) != 0 }
  }

  /// Throws when the pool was closed.
  func checkIsOpen() throws {
    if isClosed { throw CoherenceError.closedPool }
  }

  /// Runs a block with a connection.
  func withConnection<T>(for purpose: Purpose, _ body: (PostgreSQLConnection) throws -> T) throws -> T {
    let connection = try acquire(for: purpose)
    defer { release(connection, from: purpose) }
    return try body(connection)
  }

  /// Runs a block with a connection for a save: the connection that a reader of this thread offers, if any,
  /// with the reader's transaction still open.
  func withSaver<T>(_ body: (PostgreSQLConnection) throws -> T) throws -> T {
    let connection = try offeredConnection() ?? acquire(for: .saving)
    defer { release(connection, from: .saving) }
    return try body(connection)
  }
}
