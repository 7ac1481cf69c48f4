import CoherenceCore
import CoherenceSQL
import Dispatch
import Foundation
import Logging
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A store's file in this process, with the one connection that writes to it and checkpoints its log.
///
/// All stores on one file share it, also when they name the file by different paths.
final class SQLiteFile: Sendable {
  let path: String
  let writer: SQLiteConnection
  let files: SQLiteFiles
  /// Held during a save. A running thread takes the lock as soon as it is free. The connection's own queue would hand
  /// the connection to the longest waiting thread, and all other threads would wait until that thread is scheduled.
  private let writing = WriterLock()
  /// Distinguishes the file's states; `nil` when SQLite does not show the index of its log.
  let states: SQLiteStates?
  /// The number of frames from which the log is long; see ``shortenLog()``. Set by tests only.
  let longLog = Atomic<Int>(1 << 14)
  /// The number of frames before which no further attempt is made to shorten the log.
  let nextShortening = Atomic<Int>(0)
  /// The listeners of all stores of the file.
  let signals = SignalHub()
  /// The greatest `synchronous` of the stores so far, which the writer has; `nil` before the first store has set it.
  private let synchronous: Mutex<SQLiteOptions.Synchronous?> = Mutex(nil)
  /// The thread that keeps a transaction open, and the lock, until its first save; zero for none.
  private let excluder = Atomic<UInt>(0)
  /// Whether the open transaction of an exclusion has certainly written. Used by the thread of the exclusion only.
  private let hasExclusionWritten = Atomic<Bool>(false)
  /// The number of open stores. Operations of closed stores may still run.
  private let storeCount = Atomic<Int>(0)
  /// Signalled when the connection is closed. An object of its own, because waiting threads outlive the file.
  private let closed = DispatchSemaphore(value: 0)

  private init(path: String, busyTimeout: TimeInterval, logger: Logger) throws {
    self.path = path
    let files = SQLiteFiles(path: path)
    self.files = files
    let writer = try SQLiteConnection(
      path: path, role: .writer, busyTimeout: busyTimeout, logger: logger, files: files)
    self.writer = writer
    states = try writer.use { session -> SQLiteStates? in
      // The log stays with the file. The database of another program, which is refused, keeps its own kind of journal.
      if try session.string("PRAGMA journal_mode") != "wal" { _ = try session.isStore(path: path) }
      // The log lets readers continue during a write. Several processes may open a new file at the same time, and one
      // of them changes it.
      guard try session.repeatingWhileLocked({ try session.string("PRAGMA journal_mode = WAL") }) == "wal" else {
        throw CoherenceError(
          .storeInaccessible,
          "'\(path)' cannot be kept with a write-ahead log; put it on a local disk that can share memory.")
      }
      // A log keeps its greatest size otherwise, until the last process closes the file.
      _ = try session.integers("PRAGMA journal_size_limit = \(number: SQLiteFile.greatestEmptyLog)")
      // A read has SQLite open the log.
      try session.inReadTransaction {
        _ = try session.integers("PRAGMA schema_version")
        session.noteFiles()
      }
      return session.logIndex.map(SQLiteStates.init)
    }
  }

  deinit {
    emptyLogOfMissingDatabase()
    writer.close()
    closed.signal()
  }

  /// Adds a store to the number of open stores. The store's `close()` calls ``storeDidClose()``.
  func storeDidOpen() { storeCount.add(1, ordering: .acquiringAndReleasing) }
  func storeDidClose() { storeCount.subtract(1, ordering: .acquiringAndReleasing) }
  /// Whether a store is open.
  private var hasStores: Bool { storeCount.load(ordering: .acquiring) > 0 }

  /// The size in bytes to which SQLite shortens a log when its content is in the database. A log that regularly grows
  /// to some megabytes stays as it is, because an existing part of a file is written faster than a new part.
  private static let greatestEmptyLog = 1 << 24

  /// Raises the writer's `synchronous` to at least the value of an option, and checks the result.
  private func raiseSynchronous(to wanted: SQLiteOptions.Synchronous) throws {
    if hasSynchronous(atLeast: wanted) { return }
    // The value is not locked during the wait for other writers: the thread of an exclusion would wait for the value
    // when it opens another store of the file, and this thread waits for the end of the exclusion.
    try write { session in
      if hasSynchronous(atLeast: wanted) { return }
      try session.execute("PRAGMA synchronous = \(wanted.rawValue)")
      guard try session.integers("PRAGMA synchronous") == [Int64(wanted.rawValue)] else {
        throw CoherenceError(.unsupported, "SQLite refuses to run with synchronous=\(wanted.name).")
      }
      synchronous.withLock { $0 = wanted }
    }
  }

  private func hasSynchronous(atLeast wanted: SQLiteOptions.Synchronous) -> Bool {
    synchronous.withLock { $0.map { $0 >= wanted } ?? false }
  }

  // MARK: Writing

  /// Runs a block with the connection that writes. In an exclusion of the calling thread, the block continues the open
  /// transaction, and a commit in the block ends the exclusion.
  ///
  /// - Throws: ``ErrorCode/cancelled`` when the task is cancelled during the wait for other writers; the errors of the
  ///   block.
  func write<T>(_ body: (SQLiteSession) throws -> T) throws -> T {
    guard isExcludingOthers else {
      // The thread of an exclusion may keep the lock for long.
      try writing.lock(timeout: nil, of: "'\(path)'")
      defer { writing.unlock() }
      let result = try writer.use(body)
      shortenLog()
      return result
    }
    var isOver = false
    defer { if isOver { endExclusion() } }
    return try writer.use { session in
      // A commit ends the transaction, and so does a failure of the disk.
      defer { isOver = !session.isInTransaction }
      return try body(session)
    }
  }

  /// Whether the calling thread excludes other writers.
  var isExcludingOthers: Bool { excluder.load(ordering: .relaxed) == callingThread }

  /// Records a write in the open transaction of the calling thread's exclusion, which changes no rows of records.
  func didWriteInExclusion() { hasExclusionWritten.store(true, ordering: .relaxed) }

  /// Runs a block in the only writing transaction of the file, which ends with the first save or with the block.
  ///
  /// - Parameter timeout: The longest wait for other writers; `nil` for no limit in this process, and for the limit of
  ///   the option `busyTimeout` with other processes.
  func excludingWriters<T>(timeout: Duration?, _ body: () throws -> T) throws -> T {
    if isExcludingOthers { return try body() }
    let deadline = timeout.map { ContinuousClock.now + $0 }
    try writing.lock(timeout: timeout, of: "'\(path)'")
    return try excluding(timeout: deadline.map { max(.zero, $0 - .now) }, body)
  }

  /// Begins the transaction and runs a block. Called with the lock.
  ///
  /// - Parameter timeout: The longest wait for other processes; `nil` for the option's.
  private func excluding<T>(timeout: Duration?, _ body: () throws -> T) throws -> T {
    var former: SQLiteLogState?
    do {
      try writer.use { session in
        try session.waitingForOthers(atMost: timeout) { try session.execute("BEGIN IMMEDIATE") }
        former = states?.index.state
      }
    } catch {
      writing.unlock()
      throw error
    }
    excluder.store(callingThread, ordering: .relaxed)
    defer { if isExcludingOthers { commitKeys(since: former) } }
    return try body()
  }

  /// Commits the transaction of an exclusion without a save, because contexts may already use the transaction's keys.
  private func commitKeys(since former: SQLiteLogState?) {
    try? writer.use { session in
      do {
        try session.execute("COMMIT")
        // A transaction without a write makes no state. A later state is then the work of another process.
        if hasExclusionWritten.load(ordering: .relaxed) { states?.keepMark(since: former) }
      } catch {
        session.rollBack()
      }
    }
    endExclusion()
  }

  private func endExclusion() {
    hasExclusionWritten.store(false, ordering: .relaxed)
    excluder.store(0, ordering: .relaxed)
    writing.unlock()
  }

  // MARK: One per process

  /// The file with an identity, as long as its connection is open: also after the last store has released the file.
  private struct Reference {
    weak var file: SQLiteFile?
    private let closed: DispatchSemaphore

    init(_ file: SQLiteFile) {
      self.file = file
      closed = file.closed
    }

    /// Waits until the file was released and its connection is closed.
    ///
    /// - Returns: `false` after the limit.
    func waitUntilClosed(within limit: DispatchTimeInterval) -> Bool {
      guard closed.wait(timeout: .now() + limit) == .success else { return false }
      // A signal ends the wait of one thread. The next thread that waits needs another signal.
      closed.signal()
      return true
    }
  }
  /// The open files of this process, by identity. Each opening of a file removes the closed files.
  private static let openFiles = Mutex<[FileIdentity: Reference]>([:])

  /// The lock of a file during its opening. The last user removes the lock.
  private struct Opening {
    let lock = Locked<Void>(())
    var userCount = 0
  }
  /// The locks of files that threads are opening or looking up, by identity.
  private static let openings = Mutex<[FileIdentity: Opening]>([:])

  /// Runs a block in which no other thread opens the file. An opening waits while another process has locked the file,
  /// and must not keep other threads from opening other files.
  private static func withoutOtherOpenings<T>(of identity: FileIdentity, _ body: () throws -> T) rethrows -> T {
    let lock = openings.withLock { openings in
      openings[identity, default: Opening()].userCount += 1
      return openings[identity, default: Opening()].lock
    }
    defer {
      openings.withLock { openings in
        openings[identity]?.userCount -= 1
        if openings[identity]?.userCount == 0 { openings[identity] = nil }
      }
    }
    return try lock.withLock { _ in try body() }
  }

  /// Returns the file at a path. Creates a missing file, which only its owner can read.
  ///
  /// - Parameter created: Called after the function has created the file. For tests.
  /// - Throws: ``ErrorCode/storeInaccessible`` for a path without a usable file, a replaced file and a second hard link;
  ///   ``ErrorCode/storeBusy`` while another process has locked the file; ``ErrorCode/unsupported`` for a refused
  ///   `synchronous`; the errors of opening a connection.
  static func shared(
    path: String, options: SQLiteOptions, logger: Logger, created: () throws -> Void = {}
  ) throws -> SQLiteFile {
    // A path at which other threads or programs remove each new file ends in an error.
    var attempts = 100
    while true {
      try checkIsInPlace(path, openFiles.withLock { $0 })
      let isNew = try create(path)
      if !isNew { try checkIsNotSpecial(path) }
      attempts -= 1
      // A failed opening on another thread may have removed its new file in between.
      guard let identity = try attempts > 0 ? FileIdentity(path: path) : identity(path) else { continue }
      let file = try withoutOtherOpenings(of: identity) { () throws -> SQLiteFile? in
        guard FileIdentity(path: path) == identity else { return nil }
        do {
          if isNew { try created() }
          return try opened(path, identity, options, logger)
        } catch {
          if isNew, openFiles.withLock({ $0[identity]?.file }) == nil { removeUnused(path, after: error) }
          throw error
        }
      }
      guard let file else { continue }
      // After the lock: the change waits for the end of an exclusion, whose block may open another file.
      try file.raiseSynchronous(to: options.synchronous)
      return file
    }
  }

  /// Returns the open file with an identity, or opens the file.
  private static func opened(
    _ path: String, _ identity: FileIdentity, _ options: SQLiteOptions, _ logger: Logger
  ) throws -> SQLiteFile {
    let open = openFiles.withLock { $0[identity]?.file }
    let file = try open ?? SQLiteFile(path: path, busyTimeout: options.busyTimeout, logger: logger)
    try file.checkName(path)
    guard FileIdentity(path: path) == identity else {
      throw CoherenceError(
        .storeInaccessible, "'\(path)' was deleted or replaced while a store opened it; attach the store again.")
    }
    openFiles.withLock { openFiles in
      openFiles = openFiles.filter { !$0.value.waitUntilClosed(within: .seconds(0)) }
      openFiles[identity] = Reference(file)
    }
    return file
  }

  /// Removes a new file that could not be opened, unless another process may use it: that process could have opened the
  /// file as soon as it existed, and would lose its saves with the file.
  private static func removeUnused(_ path: String, after error: any Error) {
    let error = error as? CoherenceError
    // The error of a cancelled wait for the other process has another code.
    let isLocked = error?.code == .storeBusy || (error?.underlying as? SQLiteFailure)?.isOfLock == true
    if !isLocked, FileIdentity.size(path: path) == 0 { unlink(path) }
  }

  /// Refuses another name, except a symbolic link: SQLite finds a file's log by the name, and would miss it.
  private func checkName(_ other: String) throws {
    func resolved(_ path: String) -> String { URL(fileURLWithPath: path).resolvingSymlinksInPath().path }
    guard resolved(other) != resolved(path) else { return }
    throw CoherenceError(
      .storeInaccessible, "'\(other)' is a hard link to '\(path)', which is open; open the file by one name only.")
  }

  /// Refuses the path of an open file after its deletion or replacement, and another name of an open file, except a
  /// symbolic link. A file is open if a store of this process has it open to write.
  static func checkPath(_ path: String) throws {
    try checkIsInPlace(path, openFiles.withLock { $0 })
    try checkIsNotSpecial(path)
    guard let identity = FileIdentity(path: path) else { return }
    try withoutOtherOpenings(of: identity) { try openFiles.withLock { $0[identity]?.file }?.checkName(path) }
  }

  /// Refuses a device, a pipe or a socket: SQLite would write to a device without an error, and wait for the other end of
  /// a pipe.
  private static func checkIsNotSpecial(_ path: String) throws {
    if FileIdentity.isSpecial(path: path) { throw inaccessible(path) }
  }

  /// Refuses the path of an open file after its deletion or replacement. SQLite would take the log of the open file for
  /// the log of the file at the path, and clear the index of the log under the connections that use it.
  private static func checkIsInPlace(_ path: String, _ openFiles: [FileIdentity: Reference]) throws {
    let resolved = SQLiteFiles(path: path).path
    let present = FileIdentity(path: path)
    for (identity, reference) in openFiles where identity != present {
      guard let file = reference.file, file.files.path == resolved, file.hasStores else { continue }
      throw CoherenceError(
        .storeInaccessible,
        "'\(path)' was deleted or replaced while a store of this process has it open; detach that store first.")
    }
  }

  /// Whether a store of this process has the file open.
  ///
  /// Waits for the end of operations that still run on closed stores, and for the close of the connection, which
  /// removes the log by its name. Otherwise the log of the next file of this name could be removed.
  static func isOpen(path: String) -> Bool {
    guard let identity = FileIdentity(path: path),
      let reference = withoutOtherOpenings(of: identity, { openFiles.withLock { $0[identity] } })
    else { return false }
    if reference.file?.hasStores == true { return true }
    return !reference.waitUntilClosed(within: longestOperation)
  }

  /// The longest wait for an operation on a closed store. An operation that waits for the caller would never end.
  private static let longestOperation = DispatchTimeInterval.seconds(5)

  private static func identity(_ path: String) throws -> FileIdentity {
    guard let identity = FileIdentity(path: path) else { throw inaccessible(path) }
    return identity
  }

  /// Creates an empty file. Returns `false` for an existing file, which stays unchanged.
  static func create(_ path: String) throws -> Bool {
    let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    if descriptor >= 0 {
      close(descriptor)
      return true
    }
    guard errno == EEXIST else { throw inaccessible(path) }
    return false
  }

  private static func inaccessible(_ path: String) -> CoherenceError {
    let reason = String(cString: strerror(errno))
    return CoherenceError(
      .storeInaccessible, SQLiteErrorTranslator.obstacle(path) ?? "'\(path)' cannot be created (\(reason)).")
  }
}
