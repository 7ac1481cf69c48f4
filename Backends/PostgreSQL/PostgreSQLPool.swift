import CoherenceCore
import Dispatch
import Foundation
import Logging

/// The connections of a store, made when they are needed and kept for the next time.
///
/// One connection is always left for saves: a reading thread can save without waiting for readers. A caller that would
/// have to wait gets the connection of an idle unit of reading. A thread with a snapshot, which cannot give its
/// connection up, gets another one beyond the size of the pool; so does a thread that keeps other writers out, for which
/// all other connections may wait. So no holder of a connection waits forever.
///
/// Threads wait in line, first in, first out. A saver passes readers only for the connection that readers cannot have,
/// so no thread starves. A connection given back wakes the one thread that gets it.
final class PostgreSQLPool: @unchecked Sendable {
  // Sendable: the state is used under `lock` only. A connection is either idle in there or held by one thread.

  enum Purpose: Sendable { case reading, saving }

  let options: PostgreSQLOptions
  let logger: Logger
  private let lock = Lock()
  private var idle: [PostgreSQLConnection] = []
  /// The number of open connections, and of connections about to be opened.
  private var count = 0
  private var readers = 0
  private var closed = false
  /// The units of reading with a connection.
  private var lent: [ObjectIdentifier: Lent] = [:]
  /// The connections with an open transaction that keeps other writers out, by the thread that works in it.
  private var exclusions: [UInt: PostgreSQLConnection] = [:]
  /// The threads that wait. No place is free that one of them could have, except while the lock is held.
  private var line: [Waiter] = []

  private struct Lent {
    /// `nil` while the reader is going, which gives its connection back.
    weak var reader: PostgreSQLReader?
    let thread: pthread_t
  }

  /// A connection, or room to make one.
  private struct Place {
    /// `nil` for room.
    let connection: PostgreSQLConnection?
  }

  /// A thread in line.
  private final class Waiter {
    let purpose: Purpose
    let semaphore = DispatchSemaphore(value: 0)
    /// The place that the thread got, set before the semaphore is signalled.
    var place: Place?

    init(_ purpose: Purpose) { self.purpose = purpose }
  }

  /// How long a unit of reading is left its connection while others wait.
  private static let patience = Duration.milliseconds(20)

  init(_ options: PostgreSQLOptions, logger: Logger) {
    self.options = options
    self.logger = logger
  }

  var isClosed: Bool { lock.withLock { closed } }

  /// The number of threads that wait for a connection. For tests.
  var waiterCount: Int { lock.withLock { line.count } }

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
    let deadline = ContinuousClock.now + .seconds(options.poolTimeout)
    let connection = try reserved(for: purpose, by: reader, until: deadline)
    if let reader {
      let entry = Lent(reader: reader, thread: pthread_self())
      lock.withLock { lent[ObjectIdentifier(reader)] = entry }
      HeldStates.all.note(reader)
    }
    return connection
  }

  private func reserved(
    for purpose: Purpose, by reader: PostgreSQLReader?, until deadline: ContinuousClock.Instant
  ) throws -> PostgreSQLConnection {
    while let connection = try reserve(for: purpose, by: reader, until: deadline) {
      if connection.makeReady() { return connection }
      giveUp(nil, from: purpose)
      // What befell one connection has as a rule befallen those that lay idle beside it.
      closeIdle()
    }
    do {
      let timeout = max(.zero, deadline - .now)
      return try PostgreSQLConnection.connect(options, within: timeout, logger: logger)
    } catch {
      giveUp(nil, from: purpose)
      throw error
    }
  }

  /// Gives a connection back. A connection unfit for further use is closed.
  func release(_ connection: PostgreSQLConnection, from purpose: Purpose) {
    giveUp(connection.isReusable ? connection : nil, from: purpose)
  }

  /// Gives the connection of a unit of reading back.
  func release(_ connection: PostgreSQLConnection, of reader: PostgreSQLReader) {
    lock.withLock { lent[ObjectIdentifier(reader)] = nil }
    HeldStates.all.forget(ObjectIdentifier(reader))
    release(connection, from: .reading)
  }

  /// Runs a block with a connection.
  func withConnection<T>(for purpose: Purpose, _ body: (PostgreSQLConnection) throws -> T) throws -> T {
    let connection = try acquire(for: purpose)
    defer { release(connection, from: purpose) }
    return try body(connection)
  }

  /// Runs a block with a connection to save with: the one that a unit of reading of this thread offers, if any, with
  /// the transaction of the reading open.
  func withSaver<T>(_ body: (PostgreSQLConnection) throws -> T) throws -> T {
    let connection = try offeredConnection() ?? acquire(for: .saving)
    defer { release(connection, from: .saving) }
    return try body(connection)
  }

  private func offeredConnection() -> PostgreSQLConnection? {
    // As in `reserve`: the references last longer than the lock is held.
    var seen: [PostgreSQLReader] = []
    defer { withExtendedLifetime(seen) {} }
    let offered = changing { takeOffer(&seen) }
    guard let connection = offered else { return nil }
    if connection.isOpenAndQuiet { return connection }
    // The server closed it since the last read.
    giveUp(nil, from: .saving)
    return nil
  }

  /// Takes the connection that a unit of reading of this thread offers. Called under the lock.
  private func takeOffer(_ seen: inout [PostgreSQLReader]) -> PostgreSQLConnection? {
    var found: (key: ObjectIdentifier, connection: PostgreSQLConnection)?
    for (key, entry) in lent where isOwn(entry) {
      guard let reader = entry.reader else { continue }
      seen.append(reader)
      guard let connection = reader.takeOffer() else { continue }
      found = (key, connection)
      break
    }
    guard let (key, connection) = found else { return nil }
    lent[key] = nil
    HeldStates.all.forget(key)
    readers -= 1
    return connection
  }

  // MARK: Exclusion

  /// The connection with the transaction in which the calling thread keeps other writers out.
  var ownExclusion: PostgreSQLConnection? { lock.withLock { exclusions[callingThread] } }

  /// Notes the connection that the calling thread keeps other writers out with.
  func beginExclusion(with connection: PostgreSQLConnection) {
    lock.withLock { exclusions[callingThread] = connection }
  }

  /// Gives the connection back that the calling thread keeps other writers out with, if any.
  func endExclusion() {
    guard let connection = lock.withLock({ exclusions.removeValue(forKey: callingThread) }) else { return }
    release(connection, from: .saving)
  }

  // MARK: Closing

  /// Closes every connection; connections in use once they are given back.
  func close() {
    let waiting = lock.withLock {
      closed = true
      defer { line = [] }
      return line
    }
    for waiter in waiting { waiter.semaphore.signal() }
    closeIdle()
  }

  private func closeIdle() {
    let connections = changing {
      count -= idle.count
      defer { idle = [] }
      return idle
    }
    // Closed here, after the lock was released.
    withExtendedLifetime(connections) {}
  }

  // MARK: Places

  /// Gets a place, and waits for it if need be.
  ///
  /// - Returns: An idle connection; `nil` when the caller may make one.
  private func reserve(
    for purpose: Purpose, by reader: PostgreSQLReader?, until deadline: ContinuousClock.Instant
  ) throws -> PostgreSQLConnection? {
    // A reader whose last reference is released gives its connection back, for which it needs the lock: so the references
    // last longer than the lock is held.
    var seen: [PostgreSQLReader] = []
    defer { withExtendedLifetime(seen) {} }
    var waiter: Waiter?
    var place = try changing { () throws -> Place? in
      if let place = try presentPlace(for: purpose, by: reader, &seen) { return place }
      let newcomer = Waiter(purpose)
      line.append(newcomer)
      waiter = newcomer
      return nil
    }
    // Not over the wait: a reader without any other reference would not give its connection back.
    seen = []
    while place == nil, let waiter {
      let rest = min(deadline - .now, Self.patience)
      _ = waiter.semaphore.wait(timeout: .now() + rest / .seconds(1))
      var present: [PostgreSQLReader] = []
      defer { withExtendedLifetime(present) {} }
      place = try changing { try placeAfterWait(of: waiter, until: deadline, &present) }
    }
    return place?.connection
  }

  /// Runs a block that changes places under the lock, and wakes the threads that get one by it.
  private func changing<T>(_ body: () throws -> T) rethrows -> T {
    var served: [Waiter] = []
    defer { for waiter in served { waiter.semaphore.signal() } }
    return try lock.withLock {
      defer { served = serveLine() }
      return try body()
    }
  }

  /// Gives free places to the threads in line. Called under the lock.
  private func serveLine() -> [Waiter] {
    var served: [Waiter] = []
    var index = 0
    while index < line.count, !idle.isEmpty || count < options.poolSize {
      guard let place = freePlace(for: line[index].purpose) else {
        index += 1
        continue
      }
      let waiter = line.remove(at: index)
      waiter.place = place
      served.append(waiter)
    }
    return served
  }

  /// A place for a newcomer; `nil` when it has to wait. Called under the lock.
  private func presentPlace(
    for purpose: Purpose, by reader: PostgreSQLReader?, _ seen: inout [PostgreSQLReader]
  ) throws -> Place? {
    if closed { throw Self.closedError }
    if purpose == .saving, idle.isEmpty {
      // Rather than to connect once more: what a unit of reading of this thread offers.
      seen += lent.values.compactMap(\.reader)
      _ = takeBack { isOwn($0) && $0.reader?.isOffering == true }
    }
    if let place = freePlace(for: purpose) { return place }
    seen += lent.values.compactMap(\.reader)
    // An idle unit of reading of this thread cannot go on before this call returns.
    while takeBack(where: isOwn) {
      if let place = freePlace(for: purpose) { return place }
    }
    // Threads in line take connections back for themselves.
    while line.isEmpty, takeBack(where: isIdle) {
      if let place = freePlace(for: purpose) { return place }
    }
    guard exclusions[callingThread] != nil || holdsState(reader, purpose) else { return nil }
    count += 1
    if purpose == .reading { readers += 1 }
    return Place(connection: nil)
  }

  /// The place of a waiting thread; `nil` when it has to wait on. Called under the lock.
  private func placeAfterWait(
    of waiter: Waiter, until deadline: ContinuousClock.Instant, _ seen: inout [PostgreSQLReader]
  ) throws -> Place? {
    if let place = waiter.place { return place }
    if closed { throw Self.closedError }
    guard !Task.isCancelled else {
      line.removeAll { $0 === waiter }
      throw CoherenceError(
        .cancelled, "The task was cancelled while it waited for a connection to the PostgreSQL server.")
    }
    guard ContinuousClock.now < deadline else {
      line.removeAll { $0 === waiter }
      throw exhausted
    }
    seen += lent.values.compactMap(\.reader)
    // The first thread in line gets it, by `serveLine`.
    _ = takeBack(where: isIdle)
    return nil
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

  /// Whether the unit of reading has had its time while others wait.
  private func isIdle(_ entry: Lent) -> Bool { entry.reader?.isIdle(for: Self.patience) == true }

  /// Takes the connection of one idle unit of reading. Called under the lock. Never waits for a reader, because readers
  /// wait for the pool while they have their turn.
  private func takeBack(where isChosen: (Lent) -> Bool) -> Bool {
    for (key, entry) in lent where isChosen(entry) {
      guard let connection = entry.reader?.yieldConnection() else { continue }
      lent[key] = nil
      HeldStates.all.forget(key)
      readers -= 1
      if connection.isReusable { idle.append(connection) } else { count -= 1 }
      return true
    }
    return false
  }

  /// Whether this thread holds a state that it cannot give up, so that it would wait for itself, or for a thread that waits
  /// for it in another store's pool.
  private func holdsState(_ reader: PostgreSQLReader?, _ purpose: Purpose) -> Bool {
    guard purpose == .saving || reader?.hold != nil else { return false }
    if lent.values.contains(where: { isOwn($0) && $0.reader?.hold != nil }) { return true }
    // A save waits for saves only, which end.
    return purpose == .reading && HeldStates.all.isAnyHeldByCaller
  }

  private func giveUp(_ connection: PostgreSQLConnection?, from purpose: Purpose) {
    changing {
      if purpose == .reading { readers -= 1 }
      // Connections beyond the size are closed.
      if let connection, !closed, count <= options.poolSize {
        idle.append(connection)
      } else {
        count -= 1
      }
    }
  }

  private var exhausted: CoherenceError {
    CoherenceError(
      .tooManyConnections,
      "All \(options.poolSize) connections of the PostgreSQL store are in use; end units of reading sooner, or raise the "
        + "option 'poolSize'.", isRetryable: true)
  }
}
