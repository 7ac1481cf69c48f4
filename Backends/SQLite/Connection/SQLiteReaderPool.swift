import CoherenceCore
import Foundation
import Logging
import Synchronization

/// The reading connections of a store.
///
/// A connection is lent to one reader at a time. When none is idle, another connection is opened, so that a reader
/// never waits; only as many as the option `readers` says are kept afterwards.
final class SQLiteReaderPool: Sendable {
  private let options: SQLiteOptions
  private let logger: Logger
  let files: SQLiteFiles
  private let state = Mutex(State())

  private struct State {
    var idle: [SQLiteConnection] = []
    var isClosed = false
  }

  init(options: SQLiteOptions, logger: Logger, files: SQLiteFiles) {
    self.files = files
    self.options = options
    self.logger = logger
  }

  /// Lends a connection.
  func acquire() throws -> SQLiteConnection {
    while let connection = state.withLock({ $0.idle.popLast() }) {
      // SQLite does not notice that another program has changed a file that was opened as immutable.
      if connection.isUpToDate { return connection }
      connection.close()
    }
    let connection = try SQLiteConnection.reader(of: files, options: options, logger: logger)
    // The index of the write-ahead log identifies the state of the file, so that rows of that state can be cached.
    connection.findLogIndex()
    return connection
  }

  /// Runs a block with a connection, outside of a transaction.
  func withConnection<T>(_ body: (SQLiteSession) throws -> T) throws -> T {
    let connection = try acquire()
    defer { release(connection) }
    return try connection.use(body)
  }

  /// Returns a connection without an open transaction to the pool.
  func release(_ connection: SQLiteConnection) {
    let isKept = state.withLock { state in
      guard !state.isClosed, state.idle.count < options.readers else { return false }
      state.idle.append(connection)
      return true
    }
    if !isKept { connection.close() }
  }

  /// Closes the idle connections. Connections in use are closed when they are returned.
  func close() {
    let idle = state.withLock { state in
      state.isClosed = true
      defer { state.idle = [] }
      return state.idle
    }
    for connection in idle { connection.close() }
  }
}
