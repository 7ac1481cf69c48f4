import Foundation
import Synchronization

/// The files of a store that this process has open: the database, its write-ahead log, and the index of the log.
///
/// Another process may delete or replace the files. SQLite does not notice it, and reports other causes for its
/// failures.
final class SQLiteFiles: Sendable {
  private struct File: Sendable {
    let path: String
    let identity: FileIdentity

    var isInPlace: Bool { FileIdentity(path: path) == identity }
  }

  /// The path of the database without symbolic links: SQLite keeps the log beside the file that they lead to.
  let path: String
  /// The files as ``note()`` found them last.
  private let openFiles = Mutex<[File]>([])

  init(path: String) { self.path = URL(fileURLWithPath: path).resolvingSymlinksInPath().path }

  private var logPath: String { path + "-wal" }
  private var indexPath: String { path + "-shm" }

  /// Whether a log with changes is beside the database, or a journal, which has the former content of a database that
  /// another program keeps without a write-ahead log.
  var hasLog: Bool { [logPath, path + "-journal"].contains { FileIdentity.size(path: $0).map { $0 > 0 } ?? false } }

  /// Records the identities of the existing files. Called in a transaction, when SQLite has opened the files.
  func note() {
    let files = [path, logPath, indexPath].compactMap { path in
      FileIdentity(path: path).map { File(path: path, identity: $0) }
    }
    openFiles.withLock { $0 = files }
  }

  /// The path of a deleted or replaced file; `nil` for none.
  var missing: String? { openFiles.withLock { $0 }.first { !$0.isInPlace }?.path }

  /// The path of the log or of its index, if that file was deleted or replaced; `nil` otherwise.
  ///
  /// With a deleted index another process would make a new one, and both would append to one log.
  var missingLog: String? { openFiles.withLock { $0 }.first { $0.path != path && !$0.isInPlace }?.path }

  /// Whether the database was moved, deleted or replaced.
  var isDatabaseMissing: Bool { openFiles.withLock { $0 }.contains { $0.path == path && !$0.isInPlace } }

  /// Whether another process may have begun another log in the place of a deleted log. Asked after the deletion of a
  /// file only, because the log of this process has content too.
  ///
  /// A reader of this process leaves an empty log where it finds none. Another process would have made an index of its
  /// own, or written into the log.
  var hasOtherLog: Bool {
    guard let size = FileIdentity.size(path: logPath) else { return false }
    guard size == 0, let index = FileIdentity(path: indexPath) else { return size > 0 }
    return openFiles.withLock { $0 }.first { $0.path == indexPath }?.identity != index
  }
}
