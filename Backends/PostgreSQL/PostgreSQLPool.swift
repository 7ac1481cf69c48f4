import CoherenceCore
import Foundation
import Logging

/// The connections of a store, made when they are needed and kept for the next time.
///
/// One connection is always left for saves: a thread that reads can save without waiting for readers. A caller that would
/// have to wait gets the connection of an idle unit of reading. A thread with a snapshot, which cannot give its connection
/// up, gets another one beyond the size of the pool. So no holder of a connection waits for one that cannot come.
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
  /// The units of reading with a connection.
  private var lent: [ObjectIdentifier: Lent] = [:]

  private struct Lent {
    /// `nil` while the reader is going, which gives its connection back.
    weak var reader: PostgreSQLReader?
    let thread: pthread_t
  }

  /// How long a unit of reading is left its connection while others wait.
  private static let patience = Duration.milliseconds(20)

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
  func acquire(for purpose: Purpose, by reader: PostgreSQLReader? = nil) throws -> PostgreSQLConnection {
    let deadline = Date(timeIntervalSinceNow: options.poolTimeout)
    let connection = try reserved(for: purpose, by: reader, until: deadline)
    if let reader {
      let entry = Lent(reader: reader, thread: pthread_self())
      condition.withLock { lent[ObjectIdentifier(reader)] = entry }
    }
    return connection
  }

  private func reserved(
    for purpose: Purpose, by reader: PostgreSQLReader?, until deadline: Date
  ) throws -> PostgreSQLConnection {
    while let connection = try reserve(for: purpose, by: reader, until: deadline) {
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

  /// Gives the connection of a unit of reading back.
  func release(_ connection: PostgreSQLConnection, of reader: PostgreSQLReader) {
    condition.withLock { lent[ObjectIdentifier(reader)] = nil }
    release(connection, from: .reading)
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
  private func reserve(
    for purpose: Purpose, by reader: PostgreSQLReader?, until deadline: Date
  ) throws -> PostgreSQLConnection? {
    // A reader whose last reference is released gives its connection back, for which it needs the lock: so the references
    // last longer than the lock is held.
    var seen: [PostgreSQLReader] = []
    defer { withExtendedLifetime(seen) {} }
    return try condition.withLock {
      while true {
        if closed { throw Self.closedError }
        if let place = freePlace(for: purpose) { return place.connection }
        seen += lent.values.compactMap(\.reader)
        // An idle unit of reading of this thread cannot go on before this call returns; others get some time to end.
        if takeBack(where: isOwn) || takeBack(where: { $0.reader?.isIdle(for: Self.patience) == true }) { continue }
        if holdsState(reader, purpose) {
          count += 1
          if purpose == .reading { readers += 1 }
          return nil
        }
        let wake = lent.isEmpty ? deadline : min(deadline, Date(timeIntervalSinceNow: Self.patience / .seconds(1)))
        if !condition.wait(until: wake), Date.now >= deadline { throw exhausted }
      }
    }
  }

  private struct Place {
    /// `nil` for room to make one.
    let connection: PostgreSQLConnection?
  }

  private func freePlace(for purpose: Purpose) -> Place? {
    guard purpose == .saving || readers < options.poolSize - 1 else { return nil }
    let connection = idle.popLast()
    guard connection != nil || count < options.poolSize else { return nil }
    if connection == nil { count += 1 }
    if purpose == .reading { readers += 1 }
    return Place(connection: connection)
  }

  // MARK: Taking back

  private func isOwn(_ entry: Lent) -> Bool { pthread_equal(entry.thread, pthread_self()) != 0 }

  /// Takes the connection of one idle unit of reading. Called under the lock. Never waits for a reader, because readers
  /// wait for the pool while they have their turn.
  private func takeBack(where isChosen: (Lent) -> Bool) -> Bool {
    for (key, entry) in lent where isChosen(entry) {
      guard let connection = entry.reader?.yieldConnection() else { continue }
      lent[key] = nil
      readers -= 1
      if connection.isReusable { idle.append(connection) } else { count -= 1 }
      return true
    }
    return false
  }

  /// Whether this thread holds a state that it cannot give up, so that it would wait for itself.
  private func holdsState(_ reader: PostgreSQLReader?, _ purpose: Purpose) -> Bool {
    guard purpose == .saving || reader?.hold != nil else { return false }
    return lent.values.contains { isOwn($0) && $0.reader?.hold != nil }
  }

  private func giveUp(_ connection: PostgreSQLConnection?, from purpose: Purpose) {
    condition.withLock {
      if purpose == .reading { readers -= 1 }
      // Connections beyond the size are closed.
      if let connection, !closed, count <= options.poolSize {
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
