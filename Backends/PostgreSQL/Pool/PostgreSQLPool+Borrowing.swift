import CoherenceCore
import Foundation

extension PostgreSQLPool {
  /// The use of a borrowed connection, which determines the permit that it takes.
  enum Purpose: Sendable {
    case reading, saving
    /// Reading in a state that outlives units of work.
    case lasting
  }

  /// A reader with a connection, and the thread that reads.
  struct Reading {
    /// The reader; `nil` while it is deinitialised and returns its connection.
    weak var reader: PostgreSQLReader?
    let thread: pthread_t

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
