import CoherenceCore
import Dispatch
import Foundation
import Logging

/// The connections of a store, opened on demand and reused.
///
/// One connection is reserved for saves, so that a reading thread can save without waiting for readers. A caller that
/// would have to wait takes the connection of an idle reader. A thread with a snapshot, which cannot release
/// its connection, gets another connection beyond the size of the pool; so does a thread that locks records or excludes
/// other writers, because all other connections may wait for it. Streams and pinned snapshots, which stay open beyond
/// their units of work, have connections beside the pool: they do not count, and no thread waits for them. So no thread
/// with a connection waits forever. A stream to which the server refuses a connection waits for one of the pool.
///
/// Waiting threads are served first in, first out. A saver passes readers only for the reserved connection, so no
/// thread starves. A returned connection wakes only the thread that gets it. While the server refuses further
/// connections, threads wait as if the pool had the size that the server permits; see ``ConnectionPermits``.
final class PostgreSQLPool: @unchecked Sendable {
  // Sendable: the state is used under `lock` only. A connection is either idle in the pool or used by one thread.

  let options: PostgreSQLOptions
  let logger: Logger
  /// The growth of the store's tables, after which connections renew their plans.
  let growth = PostgreSQLGrowth()
  let saveLocking = PostgreSQLSaveLocking()
  /// The sessions with a row in the table of commits.
  let commitSessions = PostgreSQLCommitSessions()
  private let lock = Lock()
  private var permits: ConnectionPermits<PostgreSQLConnection>
  private var wasClosed = false
  /// The readers with a connection.
  private var readings: [ObjectIdentifier: Reading] = [:]
  /// The open transactions that lock records or tables.
  private var openLocks = PostgreSQLOpenLocks()
  /// The waiting threads in order. Outside the lock, no permit is free that one of them could use.
  private var waiters: [PostgreSQLPoolWaiter] = []
  /// The time from which the pool opens one more connection, after the server has refused one.
  private var limitEnd = ContinuousClock.now

  private typealias Permit = ConnectionPermits<PostgreSQLConnection>.Permit

  /// The time for which an idle reader keeps its connection while other threads wait.
  private static let minimumReadingTime = Duration.milliseconds(20)
  /// The time after which the pool tries again to open a connection that the server has refused.
  private let refusalTime: Duration

  init(_ options: PostgreSQLOptions, logger: Logger, refusalTime: Duration = .seconds(1)) {
    self.options = options
    self.logger = logger
    self.refusalTime = refusalTime
    permits = ConnectionPermits(size: options.poolSize)
  }

  var isClosed: Bool { lock.withLock { wasClosed } }

  /// The number of threads that wait for a connection. For tests.
  var waiterCount: Int { lock.withLock { waiters.count } }

  // MARK: Borrowing

  /// Reserves a connection. The caller gives the connection back with ``release(_:from:)``.
  ///
  /// - Parameter limit: The longest wait, if it is shorter than the option's.
  /// - Throws: ``ErrorCode/tooManyConnections`` when none gets free in time, ``ErrorCode/storeDetached`` once the pool
  ///   is closed, and errors of connecting.
  func acquire(
    for purpose: Purpose, by reader: PostgreSQLReader? = nil, within limit: Duration? = nil
  ) throws -> PostgreSQLConnection {
    let purpose = reader?.isLasting == true ? .lasting : purpose
    let timeout = Duration.seconds(options.poolTimeout)
    let start = ContinuousClock.now
    let connection = try readyConnection(
      for: purpose, by: reader, since: start, until: start + min(timeout, limit ?? timeout))
    if let reader, !reader.isLasting {
      let entry = Reading(reader, on: pthread_self())
      lock.withLock { readings[ObjectIdentifier(reader)] = entry }
      ReaderHolds.all.insert(reader)
    }
    return connection
  }

  /// An idle connection that works, or a new one. A new connection is opened only if no idle one is left. When the
  /// server has no slot for a new one, the caller waits for a connection of another thread.
  private func readyConnection(
    for purpose: Purpose, by reader: PostgreSQLReader?, since start: ContinuousClock.Instant,
    until deadline: ContinuousClock.Instant
  ) throws -> PostgreSQLConnection {
    var wasRefused = false
    while true {
      let permit = try reservePermit(for: purpose, by: reader, afterRefusal: wasRefused, since: start, until: deadline)
      wasRefused = false
      guard let connection = permit.connection else {
        do {
          let timeout = max(.zero, deadline - .now)
          return try PostgreSQLConnection.connect(options, within: timeout, logger: logger)
        } catch let error as CoherenceError where error.code == .tooManyConnections && !permit.isBeyondSize {
          let mayWait = purpose == .lasting ? mayWaitBesidePool(reader) : returnRefusedPermit(from: purpose)
          guard mayWait else { throw error }
          wasRefused = true
          continue
        } catch {
          returnPermit(nil, from: purpose)
          throw error
        }
      }
      if connection.isExpired {
        returnPermit(nil, from: purpose)
        continue
      }
      if connection.makeReady(), connection.renewPlans(at: growth.stage) { return connection }
      returnPermit(nil, from: purpose)
      // A failure of one idle connection mostly affects all idle connections, such as a restart of the server.
      closeIdle()
    }
  }

  /// Returns a connection to the pool. Closes a connection unfit for reuse.
  func release(_ connection: PostgreSQLConnection, from purpose: Purpose) {
    // The idle connections mostly have the same server, and statements of the same tables.
    if connection.isOutdated { closeIdle() }
    returnPermit(connection.isReusable ? connection : nil, from: purpose)
  }

  /// Returns the connection of a reader to the pool.
  func release(_ connection: PostgreSQLConnection, of reader: PostgreSQLReader) {
    lock.withLock { readings[ObjectIdentifier(reader)] = nil }
    ReaderHolds.all.remove(ObjectIdentifier(reader))
    release(connection, from: reader.isLasting ? .lasting : .reading)
  }

  /// The connection that a reader of this thread offers to its save; `nil` for none, and for a broken one.
  func offeredConnection() -> PostgreSQLConnection? {
    // As in `reservePermit`, the references are released after the lock.
    var seenReaders: [PostgreSQLReader] = []
    defer { withExtendedLifetime(seenReaders) {} }
    let offered = changing { takeOffer(&seenReaders) }
    guard let connection = offered else { return nil }
    if connection.isOpenAndQuiet { return connection }
    // The server closed the connection since the last read.
    returnPermit(nil, from: .saving)
    return nil
  }

  /// Takes the connection that a reader of this thread offers. Called under the lock.
  private func takeOffer(_ seenReaders: inout [PostgreSQLReader]) -> PostgreSQLConnection? {
    var found: (key: ObjectIdentifier, connection: PostgreSQLConnection)?
    for (key, entry) in readings where entry.isOwn {
      guard let reader = entry.reader else { continue }
      seenReaders.append(reader)
      guard let connection = reader.takeOffer() else { continue }
      found = (key, connection)
      break
    }
    guard let (key, connection) = found else { return nil }
    readings[key] = nil
    ReaderHolds.all.remove(key)
    permits.passToSave()
    return connection
  }

  // MARK: Locks

  /// The connection with the open transaction in which the calling thread locks records or excludes other writers;
  /// `nil` for none.
  var ownLocking: PostgreSQLConnection? { lock.withLock { openLocks.own } }

  /// Whether the calling thread excludes all other writers.
  var isExcludingWriters: Bool { lock.withLock { openLocks.excludesWriters } }

  /// Records the connection on which the calling thread locks, or that its locks exclude all other writers from now on.
  func beginLocking(with connection: PostgreSQLConnection, excludesWriters: Bool) {
    lock.withLock { openLocks.begin(with: connection, excludesWriters: excludesWriters) }
  }

  /// Returns the connection on which the calling thread locks, if any.
  func endLocking() {
    guard let connection = lock.withLock({ openLocks.end() }) else { return }
    release(connection, from: .saving)
  }

  // MARK: Closing

  /// Closes all idle connections, and connections in use when they are returned.
  func close() {
    let waiting = lock.withLock {
      wasClosed = true
      defer { waiters = [] }
      return waiters
    }
    for waiter in waiting { waiter.semaphore.signal() }
    closeIdle()
  }

  private func closeIdle() {
    let connections = changing { permits.removeIdle() }
    // Closed here, after the lock was released.
    withExtendedLifetime(connections) {}
  }

  // MARK: Permits

  /// Reserves a permit, and waits for one if necessary.
  ///
  /// - Parameters:
  ///   - wasRefused: Whether the server has just refused to open a connection for the caller.
  ///   - start: The start of the call, which determines the caller's place in the line.
  private func reservePermit(
    for purpose: Purpose, by reader: PostgreSQLReader?, afterRefusal wasRefused: Bool,
    since start: ContinuousClock.Instant, until deadline: ContinuousClock.Instant
  ) throws -> Permit {
    if purpose == .lasting, !wasRefused {
      return try changing {
        if wasClosed { throw CoherenceError.closedPool }
        return Permit(connection: permits.takeBesidePool())
      }
    }
    // A reader whose last reference is released returns its connection, which takes the lock. So the references to all
    // readers seen under the lock are retained here, and released after the lock.
    var seenReaders: [PostgreSQLReader] = []
    defer { withExtendedLifetime(seenReaders) {} }
    var permit = Permit(connection: nil)
    let waiter = try changing { () throws -> PostgreSQLPoolWaiter? in
      if let freePermit = try permitForNewCaller(for: purpose, by: reader, &seenReaders) {
        permit = freePermit
        return nil
      }
      let newWaiter = PostgreSQLPoolWaiter(purpose, since: start, triesAgainAt: ContinuousClock.now + refusalTime)
      waiters.insert(newWaiter)
      return newWaiter
    }
    guard let waiter else { return permit }
    // Released before the wait: a reader with no other reference would never return its connection.
    seenReaders = []
    while true {
      let interval = min(deadline - .now, Self.minimumReadingTime)
      _ = waiter.semaphore.wait(timeout: .now() + interval / .seconds(1))
      var readersSeenAfterWait: [PostgreSQLReader] = []
      defer { withExtendedLifetime(readersSeenAfterWait) {} }
      if let permit = try changing({ try permitAfterWait(of: waiter, until: deadline, &readersSeenAfterWait) }) {
        return permit
      }
    }
  }

  /// Runs a block under the lock that frees or takes permits, and wakes the threads that get a permit.
  private func changing<T>(_ body: () throws -> T) rethrows -> T {
    var served: [PostgreSQLPoolWaiter] = []
    defer { for waiter in served { waiter.semaphore.signal() } }
    return try lock.withLock {
      defer { served = serveQueue() }
      return try body()
    }
  }

  /// Assigns free permits to waiting threads. Called under the lock.
  private func serveQueue() -> [PostgreSQLPoolWaiter] {
    // After a while the server may have a slot again. The first waiting thread tries, or else the next caller.
    if permits.isLimited, limitEnd <= ContinuousClock.now {
      permits.raiseLimit()
      limitEnd = ContinuousClock.now + refusalTime
    }
    var served: [PostgreSQLPoolWaiter] = []
    var index = 0
    while index < waiters.count, permits.hasFree {
      guard let permit = freePermit(for: waiters[index].purpose) else {
        index += 1
        continue
      }
      let waiter = waiters.remove(at: index)
      waiter.permit = permit
      served.append(waiter)
    }
    return served
  }

  /// A permit for a new caller; `nil` if the caller has to wait. Called under the lock.
  private func permitForNewCaller(
    for purpose: Purpose, by reader: PostgreSQLReader?, _ seenReaders: inout [PostgreSQLReader]
  ) throws -> Permit? {
    if wasClosed { throw CoherenceError.closedPool }
    if purpose == .saving, !permits.hasIdle {
      // An offered connection of this thread is preferred to opening another one.
      seenReaders += readings.values.compactMap(\.reader)
      _ = reclaim { $0.isOwn && $0.reader?.isOffering == true }
    }
    if let permit = freePermit(for: purpose) { return permit }
    seenReaders += readings.values.compactMap(\.reader)
    // An idle reader of this thread cannot continue before this call returns.
    while reclaim(where: \.isOwn) {
      if let permit = freePermit(for: purpose) { return permit }
    }
    // Waiting threads reclaim connections for themselves.
    while waiters.isEmpty, reclaim(where: isIdle) {
      if let permit = freePermit(for: purpose) { return permit }
    }
    guard purpose != .lasting, openLocks.own != nil || keepsState(reader, purpose) else { return nil }
    return permits.takeBeyondSize(isReading: purpose == .reading)
  }

  /// The permit of a waiting thread; `nil` if the thread has to continue waiting. Called under the lock.
  private func permitAfterWait(
    of waiter: PostgreSQLPoolWaiter, until deadline: ContinuousClock.Instant, _ seenReaders: inout [PostgreSQLReader]
  ) throws -> Permit? {
    if let permit = waiter.permit { return permit }
    if wasClosed { throw CoherenceError.closedPool }
    guard !Task.isCancelled else {
      waiters.removeAll { $0 === waiter }
      throw CoherenceError(
        .cancelled, "The task was cancelled while it waited for a connection to the PostgreSQL server.")
    }
    guard ContinuousClock.now < deadline else {
      waiters.removeAll { $0 === waiter }
      throw CoherenceError.exhaustedPool(
        of: options.poolSize, isLimitedByServer: permits.isLimited || waiter.purpose == .lasting)
    }
    if waiter.purpose == .lasting, waiter.nextAttempt <= .now {
      waiters.removeAll { $0 === waiter }
      return Permit(connection: nil)
    }
    seenReaders += readings.values.compactMap(\.reader)
    // The first waiting thread gets the reclaimed connection in `serveQueue`.
    _ = reclaim(where: isIdle)
    return nil
  }

  private func freePermit(for purpose: Purpose) -> Permit? {
    if purpose == .lasting { return permits.takeBesidePool().map { Permit(connection: $0) } }
    return permits.take(isReading: purpose == .reading)
  }

  // MARK: Reclaiming

  /// Whether a reader was idle for its time.
  private func isIdle(_ entry: Reading) -> Bool { entry.reader?.isIdle(for: Self.minimumReadingTime) == true }

  /// Takes the connection of one idle reader. Called under the lock. Never waits for a reader, because a
  /// reader may wait for the pool during a read.
  private func reclaim(where isChosen: (Reading) -> Bool) -> Bool {
    for (key, entry) in readings where isChosen(entry) {
      guard let connection = entry.reader?.yieldConnection() else { continue }
      readings[key] = nil
      ReaderHolds.all.remove(key)
      permits.reclaim(connection.isReusable ? connection : nil)
      return true
    }
    return false
  }

  /// Whether this thread keeps a state that it cannot release. It could then wait for itself, or for a thread that
  /// waits for it in another store's pool.
  private func keepsState(_ reader: PostgreSQLReader?, _ purpose: Purpose) -> Bool {
    guard purpose == .saving || reader?.hold != nil else { return false }
    // The thread's readers that could release their states have lost their connections before this call.
    if readings.values.contains(where: { $0.isOwn && $0.reader?.hold != nil }) { return true }
    // A save waits for saves only, which end.
    return purpose != .saving && ReaderHolds.all.isAnyTakenByCaller
  }

  /// Returns a permit, and closes its connection if the pool is closed or the size exceeded.
  ///
  /// - Parameter connection: The connection; `nil` if none is to be reused.
  private func returnPermit(_ connection: PostgreSQLConnection?, from purpose: Purpose) {
    changing {
      let reusable = wasClosed ? nil : connection
      if purpose == .lasting {
        permits.giveBackBesidePool(reusable)
      } else {
        permits.giveBack(reusable, isReading: purpose == .reading)
      }
    }
  }

  /// Returns the permit of a caller whose connection the server has refused.
  ///
  /// - Returns: Whether the caller may wait for another connection of the pool.
  private func returnRefusedPermit(from purpose: Purpose) -> Bool {
    changing {
      limitEnd = ContinuousClock.now + refusalTime
      return permits.giveBackRefused(isReading: purpose == .reading)
    }
  }

  /// Whether a caller to which the server has refused a connection beside the pool may wait for one of the pool: the
  /// pool has connections, and the thread keeps none of them from the pool until its call returns.
  private func mayWaitBesidePool(_ reader: PostgreSQLReader?) -> Bool {
    // As in `reservePermit`, the references are released after the lock.
    var seenReaders: [PostgreSQLReader] = []
    defer { withExtendedLifetime(seenReaders) {} }
    return changing {
      seenReaders = readings.values.compactMap(\.reader)
      while reclaim(where: \.isOwn) { continue }
      return permits.hasOpen && openLocks.own == nil && !keepsState(reader, .lasting)
    }
  }
}
