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
enum SQLiteBackup {
  /// Copies the state that a connection reads.
  ///
  /// The caller's writing transaction may be open while this copies, so that no other connection writes: with a log, a
  /// reading connection sees the state before it. The copy gets its name when it is complete and on the disk.
  ///
  /// - Parameters:
  ///   - path: The store's file.
  ///   - session: A connection that reads, outside any transaction.
  /// - Returns: The path of the copy, `<path>.<timestamp>.backup`.
  /// - Throws: ``ErrorCode/storeFull``, ``ErrorCode/storeInaccessible`` and the like. No copy is left then.
  static func make(of path: String, reading session: SQLiteSession) throws -> String {
    let target = SQLiteStoreFactory.freeName(path, suffix: "backup")
    let unfinished = target + "-unfinished"
    do {
      // Created before SQLite writes into the file, so that only its owner can read it.
      guard try SQLiteFile.create(unfinished) else { throw copyFailure(unfinished) }
      try session.run("VACUUM INTO \(text: unfinished)")
      try synchronize(unfinished)
      guard rename(unfinished, target) == 0 else { throw copyFailure(target) }
      try synchronize((path as NSString).deletingLastPathComponent)
    } catch {
      unlink(unfinished)
      throw error
    }
    return target
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
