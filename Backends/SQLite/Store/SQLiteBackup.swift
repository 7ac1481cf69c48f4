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

/// A copy of a store's file beside it, made before a migration drops values or records.
///
/// The copy gets its name at the end of the migration's transaction, before the commit. A migration that fails, or
/// whose process is killed earlier, leaves no copy: a program that is started again and again would fill the disk.
struct SQLiteBackup {
  /// The path of the finished copy, `<path>.<timestamp>.backup`.
  let path: String
  private var unfinishedPath: String { path + Self.unfinishedEnding }

  private static let suffix = "backup"
  /// The ending of the name of a copy without its final name.
  private static let unfinishedEnding = "-unfinished"

  /// Copies the state that a connection reads.
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
    self.path = SQLiteStoreFactory.freeName(path, suffix: Self.suffix)
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
      "The copy '\(path)' cannot be made (\(String(cString: strerror(errno)))); nothing was dropped. Check the "
        + "permissions of the directory.")
  }
}
