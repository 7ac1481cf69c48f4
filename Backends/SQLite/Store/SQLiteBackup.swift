import CoherenceCore
import CoherenceSQL
import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A copy of a store's file: beside it, made before a migration drops values or records, or at the place that a program
/// has chosen.
///
/// The copy of a migration gets its name at the end of the migration's transaction, before the commit. A failed
/// migration, and the end of the process before that moment, leave no copy: copies of repeated starts would fill the
/// disk.
struct SQLiteBackup {
  /// The path of the finished copy; for a migration `<path>.<timestamp>.backup`.
  let path: String
  private var unfinishedPath: String { path + Self.unfinishedEnding }

  private static let suffix = "backup"
  /// The ending of the name of a copy without its final name.
  private static let unfinishedEnding = "-unfinished"
  /// The content of the file that keeps a path for a copy.
  private static let unfinishedText = "The copy of a store was not finished.\n"

  /// Copies the state that a connection reads, beside the store's file.
  ///
  /// The caller's writing transaction may be open while this copies, so that no other connection writes: with a log, a
  /// reading connection sees the state before it. The content of the copy is on the disk when this returns.
  ///
  /// - Parameters:
  ///   - path: The store's file.
  ///   - session: A connection that reads, outside any transaction.
  /// - Throws: ``ErrorCode/storeFull``, ``ErrorCode/storeInaccessible`` and the like. No copy is left then.
  init(of path: String, reading session: SQLiteSession) throws {
    Self.removeUnfinishedCopies(of: path)
    try self.init(path: SQLiteStoreFactory.freeName(path, suffix: Self.suffix), reading: session)
  }

  /// Copies the state that a connection reads, to a path without a file.
  ///
  /// A file that is no database keeps the path for this copy until ``finish()`` or ``discard()``.
  ///
  /// - Parameter session: A connection that reads, outside any transaction.
  /// - Throws: ``ErrorCode/storeInaccessible`` when a file of a database is at the path, or none can be made;
  ///   ``ErrorCode/storeFull`` and the like. No copy is left then.
  init(at target: String, reading session: SQLiteSession) throws {
    // SQLite would apply a log at the path to the copy.
    let isFree = ["-wal", "-shm", "-journal"].allSatisfy { !FileManager.default.fileExists(atPath: target + $0) }
    guard try isFree && SQLiteFile.create(target) else {
      throw CoherenceError(
        .storeInaccessible, "A file of a database is at '\(target)' already; choose another place for the copy.")
    }
    // A process that is killed leaves the file, which would open as a store without records if it were empty. A failure
    // does no harm, and a disk without room fails the copy itself.
    try? Data(Self.unfinishedText.utf8).write(to: URL(fileURLWithPath: target, isDirectory: false))
    // A process that was killed while it copied to the path has left this file.
    unlink(target + Self.unfinishedEnding)
    try self.init(path: target, reading: session)
  }

  private init(path: String, reading session: SQLiteSession) throws {
    self.path = path
    do {
      // Created before SQLite writes into the file, so that only its owner can read it.
      guard try SQLiteFile.create(unfinishedPath) else { throw Self.copyFailure(unfinishedPath) }
      try session.run("VACUUM INTO \(text: unfinishedPath)")
      try Self.synchronize(unfinishedPath)
    } catch {
      discard()
      throw error
    }
  }

  /// Gives the copy its final name, durably.
  ///
  /// - Throws: ``ErrorCode/storeInaccessible`` and the like.
  func finish() throws {
    guard rename(unfinishedPath, path) == 0 else { throw Self.copyFailure(path) }
    try Self.synchronize((path as NSString).deletingLastPathComponent)
  }

  /// Removes the copy, finished or not.
  func discard() {
    unlink(unfinishedPath)
    unlink(path)
  }

  /// Removes the copies that killed processes have left unfinished. No other process makes a copy, because the caller's
  /// writing transaction excludes other migrations.
  private static func removeUnfinishedCopies(of path: String) {
    let directory = (path as NSString).deletingLastPathComponent
    let prefix = (path as NSString).lastPathComponent + "."
    let ending = ".\(suffix)\(unfinishedEnding)"
    let names = try? FileManager.default.contentsOfDirectory(atPath: directory.isEmpty ? "." : directory)
    for name in names ?? []
    where name.hasPrefix(prefix) && name.hasSuffix(ending) && name.count > prefix.count + ending.count {
      // A date has no dot: the copy of a store with a longer name has a dot here.
      guard !name.dropFirst(prefix.count).dropLast(ending.count).contains(".") else { continue }
      unlink((directory as NSString).appendingPathComponent(name))
    }
  }

  /// Waits until a file or a directory is on the disk.
  private static func synchronize(_ path: String) throws {
    let descriptor = open(path.isEmpty ? "." : path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw copyFailure(path) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else {
      throw CoherenceError(
        .inputOutput, "'\(path)' could not be written to the disk (\(String(cString: strerror(errno)))).")
    }
  }

  /// The error for a file that cannot be created, opened or renamed.
  private static func copyFailure(_ path: String) -> CoherenceError {
    CoherenceError(
      .storeInaccessible,
      "The copy '\(path)' cannot be made (\(String(cString: strerror(errno)))). Check the permissions of "
        + "the directory.")
  }
}
