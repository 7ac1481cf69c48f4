import CoherenceCore
import Foundation
import GRDBSQLite
import Logging

extension SQLiteConnection {
  /// Opens a connection for reading only.
  ///
  /// SQLite needs the right to write for the index of the log. Without it, a store that only reads takes the file for
  /// fixed, as in a read-only file system.
  static func reader(of files: SQLiteFiles, options: SQLiteOptions, logger: Logger) throws -> SQLiteConnection {
    func connection(_ role: Role) throws -> SQLiteConnection {
      try SQLiteConnection(
        path: files.path, role: role, busyTimeout: options.busyTimeout, logger: logger, files: files)
    }
    // The connection would read the records of another file in the place of the database. SQLite would also take the
    // log for that of the other file, and clear the index of the log under the connections that use it.
    if !options.isReadOnly, files.isDatabaseMissing {
      throw SQLiteErrorTranslator(path: files.path).coherenceError(
        SQLiteFailure(code: SQLiteCode.moved, message: "the file was moved, deleted or replaced"))
    }
    do {
      return try connection(.reader)
    } catch let error as CoherenceError where options.isReadOnly && error.isOfMissingRight {
      if files.hasLog { throw logNeedsRights(files.path, error) }
      return try connection(.readerOfFixedFile)
    }
  }

  private static func logNeedsRights(_ path: String, _ error: CoherenceError) -> CoherenceError {
    CoherenceError(
      .storeInaccessible,
      "The log of '\(path)' has changes, which can only be read with the right to write in the directory; open and "
        + "close the store once with this right.", underlying: error.underlying)
  }
}

extension CoherenceError {
  /// Whether SQLite needed the right to write, or to make a file.
  fileprivate var isOfMissingRight: Bool {
    guard let failure = underlying as? SQLiteFailure else { return false }
    return failure.primaryCode == SQLITE_CANTOPEN || failure.primaryCode == SQLITE_READONLY && !isOfMissingFile
  }
}
