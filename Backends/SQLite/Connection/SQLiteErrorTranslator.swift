import CoherenceCore
import CoherenceSQL
import Foundation
import GRDBSQLite

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// SQLite's error for a failed call. Never contains a value of a record.
public struct SQLiteFailure: Error, Sendable, CustomStringConvertible {
  /// The extended result code.
  public let code: CInt
  public let message: String
  /// Whether the failed operation may have been applied nevertheless.
  var isOutcomeUnknown = false
  public var description: String { "SQLite \(code): \(message)" }

  /// The primary result code.
  var primaryCode: CInt { code & 0xFF }
  var isConstraint: Bool { primaryCode == SQLITE_CONSTRAINT }
  /// Whether another connection has a lock that the failed operation needs.
  var isOfLock: Bool { primaryCode == SQLITE_BUSY }
  /// Whether a sum of integers or decimals went out of range.
  var isSumOverflow: Bool {
    primaryCode == SQLITE_ERROR && (message == "integer overflow" || message == SumFunction.overflowMessage)
  }
  /// Whether a commit with this failure may have been written completely, so that another process finds it.
  var mayHaveCommitted: Bool { ![SQLITE_CONSTRAINT, SQLITE_BUSY, SQLITE_LOCKED].contains(primaryCode) }

  init(code: CInt, message: String) {
    self.code = code
    self.message = message
  }

  /// The failure of the last call on a connection.
  ///
  /// To be called directly after the call, because SQLite leaves the error of a failed write to a log in `errno` alone.
  init(_ connection: OpaquePointer?) {
    let ownError = errno
    let knownError = sqlite3_system_errno(connection)
    self.init(
      code: Self.code(sqlite3_extended_errcode(connection), systemError: knownError == 0 ? ownError : knownError),
      message: String(cString: sqlite3_errmsg(connection)))
  }

  /// The code of a failure whose cause is an error of the operating system. SQLite reports a full disk as such, but a
  /// quota and a limit for the size of files as a failed write.
  static func code(_ code: CInt, systemError: CInt) -> CInt {
    SQLiteCode.failedWrites.contains(code) && [EFBIG, EDQUOT].contains(systemError) ? SQLITE_FULL : code
  }
}

/// Translates SQLite's failures into errors of the framework.
struct SQLiteErrorTranslator {
  /// The store's file.
  let path: String
  /// The open files; `nil` where they are not watched.
  var files: SQLiteFiles?

  /// Returns the framework's error for a failure of SQLite, and any other error unchanged.
  func translated(_ error: any Error) -> any Error {
    guard let failure = error as? SQLiteFailure else { return error }
    return coherenceError(failure)
  }

  func coherenceError(_ failure: SQLiteFailure) -> CoherenceError {
    let failure = attributedToMissingFile(failure)
    let (code, sentence) = explanation(failure)
    guard failure.isOutcomeUnknown else {
      return CoherenceError(code, sentence, underlying: failure, isRetryable: code == .storeBusy)
    }
    return CoherenceError(
      code, sentence + " Whether the save was applied shows when the file is opened the next time.",
      underlying: failure, outcome: .unknown)
  }

  /// Returns the failure of a missing file in place of a failure that the missing file has caused.
  private func attributedToMissingFile(_ failure: SQLiteFailure) -> SQLiteFailure {
    guard failure.mayComeFromMissingFile, let missing = files?.missing else { return failure }
    var result = SQLiteFailure(
      code: SQLiteCode.moved, message: "'\(missing)' was deleted or replaced: \(failure.message)")
    result.isOutcomeUnknown = failure.isOutcomeUnknown
    return result
  }

  /// The code and the sentence of the error for a failure.
  private func explanation(_ failure: SQLiteFailure) -> (ErrorCode, String) {
    switch failure.primaryCode {
    case SQLITE_NOTADB:
      return (.notADatabase, "'\(path)' is not a SQLite database; choose another file, or move this one away.")
    case SQLITE_CORRUPT:
      return corruption(failure)
    case SQLITE_READONLY where failure.code == SQLiteCode.moved:
      return (
        .storeInaccessible,
        "'\(path)' or its log was moved or deleted while the store was open (\(failure.message)). Earlier saves are "
          + "kept as far as possible. Restore the file, or detach the store and attach it again."
      )
    case SQLITE_READONLY:
      return (.storeReadOnly, "'\(path)' cannot be written; check the permissions of the file and its directory.")
    case SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_AUTH:
      return (
        .storeInaccessible,
        Self.obstacle(path)
          ?? "'\(path)' cannot be opened (\(failure.message)); check the permissions of the file and its directory."
      )
    case SQLITE_BUSY where Task.isCancelled:
      return (.cancelled, "The task was cancelled while another process had locked '\(path)'.")
    // SQLite gives up a read with a failure of the protocol when another process recovers the log for long.
    case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL:
      return (.storeBusy, "'\(path)' is locked by another process; try again, or raise the option 'busyTimeout'.")
    case SQLITE_FULL:
      return (
        .storeFull,
        "No space is left for '\(path)', or a limit for the size of files is reached; free some space, or raise the "
          + "limit, and try again."
      )
    case SQLITE_INTERRUPT:
      return (.cancelled, "The task was cancelled while '\(path)' was read.")
    case SQLITE_CONSTRAINT:
      return constraint(failure)
    case SQLITE_ERROR where failure.isMissingName, SQLITE_SCHEMA where failure.isMissingName:
      return (
        .schemaChanged,
        "Another program has changed the tables of '\(path)', or they are damaged (\(failure.message)); detach the "
          + "store and attach it again. If the error comes again, restore the file from a backup."
      )
    case SQLITE_ERROR where failure.exceedsLimit, SQLITE_TOOBIG:
      return (
        .limitExceeded,
        "SQLite cannot take a statement or a value of that size (\(failure.message)); ask for less at once."
      )
    case SQLITE_ERROR, SQLITE_SCHEMA:
      return (
        .unsupported, "SQLite refuses a statement (\(failure.message)); report this with the predicate and the model."
      )
    case SQLITE_NOMEM:
      return (.storeBusy, "There is not enough memory to work on '\(path)'; try again.")
    default:
      return (.inputOutput, "Reading or writing '\(path)' failed (\(failure.message)).")
    }
  }

  private func corruption(_ failure: SQLiteFailure) -> (ErrorCode, String) {
    guard failure.isOfUnknownSyntax else {
      return (.storeCorrupt, "'\(path)' is damaged (\(failure.message)); restore it from a backup.")
    }
    return (
      .schemaChanged,
      "A program with another version of SQLite has added a part to '\(path)' that this version cannot read, or the "
        + "file is damaged (\(failure.message)); remove that part with the other program, or update SQLite."
    )
  }

  private func constraint(_ failure: SQLiteFailure) -> (ErrorCode, String) {
    switch failure.code {
    case SQLiteCode.foreignKey:
      (.danglingReference, CoherenceError.danglingReferenceMessage)
    case SQLiteCode.unique:
      (
        .uniquenessViolated,
        "Two records would have the same values of unique properties (\(failure.message)); change one of them."
      )
    case SQLiteCode.primaryKey, SQLiteCode.rowID:
      (.uniquenessViolated, "A record has a key that is taken (\(failure.message)); insert it again.")
    default:
      (
        .invalidValue,
        "A constraint that is not the model's refuses a value (\(failure.message)); change the value, or drop the "
          + "constraint."
      )
    }
  }

  /// The obstacle to opening a file: a missing or forbidden directory or file. `nil` for none.
  static func obstacle(_ path: String) -> String? {
    let files = FileManager.default
    let directory = (path as NSString).deletingLastPathComponent
    var isDirectory: ObjCBool = false
    if files.fileExists(atPath: path, isDirectory: &isDirectory) {
      if isDirectory.boolValue { return "'\(path)' is a directory; name a file in it." }
      if FileIdentity.isSpecial(path: path) {
        return "'\(path)' is a device, a pipe or a socket; choose another file for the store."
      }
      return files.isReadableFile(atPath: path) ? nil : "Access to '\(path)' is denied; check its permissions."
    }
    guard files.fileExists(atPath: directory, isDirectory: &isDirectory) else {
      return "The directory '\(directory)' does not exist; create it before the store."
    }
    if !isDirectory.boolValue { return "'\(directory)' is not a directory; choose another place for the store." }
    return files.isWritableFile(atPath: directory)
      ? nil : "Access to the directory '\(directory)' is denied; check its permissions."
  }
}

/// Extended result codes, whose definitions in C Swift cannot import.
enum SQLiteCode {
  static let foreignKey = SQLITE_CONSTRAINT | (3 << 8)
  static let primaryKey = SQLITE_CONSTRAINT | (6 << 8)
  static let unique = SQLITE_CONSTRAINT | (8 << 8)
  static let rowID = SQLITE_CONSTRAINT | (10 << 8)
  static let moved = SQLITE_READONLY | (4 << 8)
  /// A failed write, sync or change of size, of a file or of the index of a log.
  static let failedWrites = [3, 4, 6, 19].map { SQLITE_IOERR | ($0 << 8) } as [CInt]
}

extension CoherenceError {
  /// Whether the error is the failure of a deleted or replaced file.
  var isOfMissingFile: Bool { (underlying as? SQLiteFailure)?.code == SQLiteCode.moved }
}

extension SQLiteFailure {
  /// Whether a deleted or replaced file may have caused the failure. A deleted log is too short for its index, and
  /// another database has other tables.
  fileprivate var mayComeFromMissingFile: Bool {
    switch primaryCode {
    case SQLITE_IOERR, SQLITE_CORRUPT, SQLITE_CANTOPEN, SQLITE_NOTADB, SQLITE_PROTOCOL: true
    case SQLITE_READONLY: code != SQLiteCode.moved
    case SQLITE_ERROR, SQLITE_SCHEMA: isMissingName
    default: false
    }
  }

  /// Whether a statement, or its result, exceeds a limit of the engine.
  fileprivate var exceedsLimit: Bool {
    ["parser stack overflow", "too large", "too many", "at most", "too deep"].contains { message.contains($0) }
  }

  /// Whether the file has a table, an index, a view or a trigger in a syntax that this version of SQLite does not know.
  fileprivate var isOfUnknownSyntax: Bool {
    message.hasPrefix("malformed database schema (")
      && [": syntax error", "unknown table option"].contains { message.contains($0) }
  }

  /// Whether a statement names a missing table or column.
  fileprivate var isMissingName: Bool {
    message.hasPrefix("no such column") || message.hasPrefix("no such table")
      || message.contains(" has no column named ")
  }
}
