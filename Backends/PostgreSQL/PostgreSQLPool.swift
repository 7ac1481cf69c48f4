import CoherenceCore
import Foundation
import Logging

/// The connections of a store, made when they are needed and kept for the next time.
///
/// One connection is always left for saves: a thread that reads can save without waiting for readers.
final class PostgreSQLPool: @unchecked Sendable {
  // Sendable: the state is used under `condition` only. A connection is either idle in there or held by one thread.

  enum Purpose { case reading, saving }

  let options: PostgreSQLOptions
  let logger: Logger
  private let condition = NSCondition()
  private var idle: [PostgreSQLConnection] = []
  /// The number of connections that are open or about to be.
  private var count = 0
  private var readers = 0
  private var closed = false

  init(_ options: PostgreSQLOptions, logger: Logger) {
    self.options = options
    self.logger = logger
  }

  var isClosed: Bool { condition.withLock { closed } }

  /// Throws when the pool was closed.
  func checkIsOpen() throws {
    if isClosed { throw Self.closedError }
  }

  private static let closedError = CoherenceError(
    .storeDetached, "The PostgreSQL store was closed; attach the store again before using it.")

  // MARK: Borrowing

  /// A connection, to be given back by ``release(_:from:)``.
  ///
  /// - Throws: ``ErrorCode/tooManyConnections`` when none gets free in time, ``ErrorCode/storeDetached`` once the pool is
  ///   closed, and errors of connecting.
  func acquire(for purpose: Purpose) throws -> PostgreSQLConnection {
    let deadline = Date(timeIntervalSinceNow: options.poolTimeout)
    while let connection = try reserve(for: purpose, until: deadline) {
      if connection.makeReady() { return connection }
      giveUp(nil, from: purpose)
      // What befell one connection has as a rule befallen those that lay idle beside it.
      closeIdle()
    }
    do {
      let timeout = Duration.seconds(max(0, deadline.timeIntervalSinceNow))
      return try PostgreSQLConnection.connect(options, within: timeout, logger: logger)
    } catch {
      giveUp(nil, from: purpose)
      throw error
    }
  }

  /// Gives a connection back. One that is not fit for something new is closed.
  func release(_ connection: PostgreSQLConnection, from purpose: Purpose) {
    giveUp(connection.isReusable ? connection : nil, from: purpose)
  }

  /// Runs a block with a connection.
  func withConnection<T>(for purpose: Purpose, _ body: (PostgreSQLConnection) throws -> T) throws -> T {
    let connection = try acquire(for: purpose)
    defer { release(connection, from: purpose) }
    return try body(connection)
  }

  /// Closes every connection, those that are in use once they are given back.
  func close() {
    condition.withLock { closed = true }
    closeIdle()
  }

  private func closeIdle() {
    let connections = condition.withLock {
      count -= idle.count
      defer { idle = [] }
      condition.broadcast()
      return idle
    }
    // Closed here, when nobody waits for the lock any more.
    withExtendedLifetime(connections) {}
  }

  // MARK: Places

  /// Waits for a place.
  ///
  /// - Returns: An idle connection; `nil` when there is room to make one.
  private func reserve(for purpose: Purpose, until deadline: Date) throws -> PostgreSQLConnection? {
    try condition.withLock {
      while true {
        if closed { throw Self.closedError }
        if purpose == .saving || readers < options.poolSize - 1 {
          let connection = idle.popLast()
          if connection != nil || count < options.poolSize {
            if connection == nil { count += 1 }
            if purpose == .reading { readers += 1 }
            return connection
          }
        }
        if !condition.wait(until: deadline) { throw exhausted }
      }
    }
  }

  private func giveUp(_ connection: PostgreSQLConnection?, from purpose: Purpose) {
    condition.withLock {
      if purpose == .reading { readers -= 1 }
      if let connection, !closed {
        idle.append(connection)
      } else {
        count -= 1
      }
      condition.broadcast()
    }
  }

  private var exhausted: CoherenceError {
    CoherenceError(
      .tooManyConnections,
      "All \(options.poolSize) connections of the PostgreSQL store are in use; end units of reading sooner, or raise the "
        + "option 'poolSize'.", isRetryable: true)
  }
}
