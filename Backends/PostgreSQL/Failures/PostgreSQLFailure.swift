import CLibPQ
import CoherenceCore

/// The server's error for a failed statement. Never contains a value of a record.
public struct PostgreSQLFailure: Error, Sendable, CustomStringConvertible {
  /// The five characters of the failure's code, as in the table of PostgreSQL's error codes.
  public let sqlState: String
  /// The server's sentence, in the language of the server; `nil` if it could contain a value of a record.
  public let message: String?
  /// The name of the violated constraint; `nil` for other failures.
  public let constraint: String?
  /// The name of the table concerned; `nil` for a failure that concerns no single table.
  public let table: String?
  /// Whether the server ended the connection with the failure.
  public let isFatal: Bool
  /// Whether the result of a prepared statement would have other types than at its preparation, because another program
  /// has changed the type of a column.
  let hasOutdatedPlan: Bool

  public var description: String { "PostgreSQL \(sqlState)" + (message.map { ": \($0)" } ?? "") }

  /// Reads the fields of a failed result, except for the detail, which contains values of records.
  ///
  /// - Parameter isFatal: Whether the connection is known to have ended, whatever severity the server gives.
  init(_ result: OpaquePointer, isFatal: Bool) {
    func field(_ name: Character) -> String? {
      PQresultErrorField(result, Int32(name.asciiValue!)).map { String(cString: $0) }
    }
    // The severity in English, in every language of the server.
    let severity = field("V")
    // A function in PL/pgSQL, such as a trigger, chooses the code of its error and its sentence, which may have values.
    let isRaised = field("R") == "exec_stmt_raise"
    self.init(
      sqlState: field("C") ?? "", message: isRaised ? nil : field("M"), constraint: field("n"), table: field("t"),
      isFatal: isFatal || severity == "FATAL" || severity == "PANIC",
      // The code alone stands for every unsupported feature, and the sentence is in the language of the server.
      hasOutdatedPlan: field("C") == "0A000" && field("R") == "RevalidateCachedQuery")
  }

  init(
    sqlState: String, message: String? = nil, constraint: String? = nil, table: String? = nil, isFatal: Bool = false,
    hasOutdatedPlan: Bool = false
  ) {
    self.sqlState = sqlState
    self.message = Self.classesWithoutValues.contains(String(sqlState.prefix(2))) ? message : nil
    self.constraint = constraint
    self.table = table
    self.isFatal = isFatal
    self.hasOutdatedPlan = hasOutdatedPlan
  }

  /// The first two characters of the codes of failures whose sentences contain no values. Sentences of data exceptions,
  /// and of errors that the functions of users raise, may contain values.
  private static let classesWithoutValues: Set = [
    "08", "0A", "23", "25", "26", "28", "34", "3D", "3F", "40", "42", "53", "54", "55", "57", "58", "XX",
  ]

  /// Whether the server ended the transaction to resolve a deadlock.
  var isDeadlock: Bool { sqlState == "40P01" }
  /// Whether the transaction conflicted with another one, and may succeed when it is repeated.
  var isSerializationFailure: Bool { sqlState == "40001" || isDeadlock }
  /// Whether two rows would have the same unique values.
  var isUniquenessViolation: Bool { sqlState == "23505" }
  /// Whether a constraint of the schema was violated.
  var isConstraintViolation: Bool { isUniquenessViolation || sqlState == "23503" }
  /// Whether the session does not have the prepared statements of its connection: a statement has deallocated them, or
  /// a pooler between client and server has given the connection another session.
  var isOfOtherSession: Bool { ["26000", "42P05"].contains(sqlState) }
  /// Whether the server is starting or stopping, and refuses connections.
  var isStarting: Bool { sqlState == "57P03" }
  /// Whether the server does not support the statement, or not in its present state.
  var isUnsupportedFeature: Bool { sqlState == "0A000" }
  /// Whether the server, or the session, only reads.
  var forbidsWriting: Bool { sqlState == "25006" }
  /// Whether a lock was not acquired in time.
  var isLockTimeout: Bool { sqlState == "55P03" }
  /// Whether the server failed because of a value.
  var isOfData: Bool { sqlState.hasPrefix("22") }
  /// Whether a number is out of the range of its type.
  var isOutOfRange: Bool { sqlState == "22003" }
  /// Whether the failure ended the connection, or the server refuses connections.
  var isDisconnection: Bool { isFatal || sqlState.hasPrefix("08") || Self.shutdowns.contains(sqlState) }
  private static let shutdowns: Set = ["57P01", "57P02", "57P03", "57P05", "25P03", "25P04", "40003"]
  /// Whether the server ended the connection for the age of its transaction, or for the time without a statement in it.
  var isOfSlowTransaction: Bool { ["25P03", "25P04"].contains(sqlState) }
}

extension Error {
  /// The server's failure behind an error of the framework; `nil` for any other error.
  var serverFailure: PostgreSQLFailure? { (self as? CoherenceError)?.underlying as? PostgreSQLFailure }
}
