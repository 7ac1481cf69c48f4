import CLibPQ
import CoherenceCore

/// The server's error for a failed statement. Never contains a value of a record.
public struct PostgreSQLFailure: Error, Sendable, CustomStringConvertible {
  /// The five characters of the code.
  public let sqlState: String
  /// The server's sentence; `nil` if it could contain a value of a record.
  public let message: String?
  /// The name of the violated constraint.
  public let constraint: String?
  /// The name of the table concerned.
  public let table: String?
  /// Whether the server ended the connection with the failure.
  public let isFatal: Bool

  public var description: String { "PostgreSQL \(sqlState)" + (message.map { ": \($0)" } ?? "") }

  /// Reads the fields of a failed result, except for the detail, which contains values of records.
  init(_ result: OpaquePointer, isFatal: Bool) {
    func field(_ name: Character) -> String? {
      PQresultErrorField(result, Int32(name.asciiValue!)).map { String(cString: $0) }
    }
    // The severity in English, in every language of the server.
    let severity = field("V")
    self.init(
      sqlState: field("C") ?? "", message: field("M"), constraint: field("n"), table: field("t"),
      isFatal: isFatal || severity == "FATAL" || severity == "PANIC")
  }

  init(
    sqlState: String, message: String? = nil, constraint: String? = nil, table: String? = nil, isFatal: Bool = false
  ) {
    self.sqlState = sqlState
    self.message = Self.classesWithoutValues.contains(String(sqlState.prefix(2))) ? message : nil
    self.constraint = constraint
    self.table = table
    self.isFatal = isFatal
  }

  /// The classes of errors whose sentences contain no values. Sentences of data exceptions, and of errors that triggers
  /// raise, contain values.
  private static let classesWithoutValues: Set = [
    "08", "0A", "23", "25", "26", "28", "34", "3D", "3F", "40", "42", "53", "54", "55", "57", "58", "XX",
  ]

  /// Whether the transaction conflicted with another one, and may succeed when it is repeated.
  var isSerializationFailure: Bool { sqlState == "40001" || sqlState == "40P01" }
  /// Whether a constraint of the schema was violated.
  var isConstraintViolation: Bool { sqlState == "23505" || sqlState == "23503" }
  /// Whether the failure ended the connection.
  var isDisconnection: Bool { isFatal || sqlState.hasPrefix("08") || Self.shutdowns.contains(sqlState) }
  private static let shutdowns: Set = ["57P01", "57P02", "57P03", "57P05", "25P03", "25P04", "40003"]
}

extension CoherenceError {
  /// The framework's error for an error of the server.
  init(_ failure: PostgreSQLFailure) {
    let (code, sentence) = Self.explanation(failure)
    let isRetryable =
      failure.isDisconnection || failure.isSerializationFailure || [.storeBusy, .tooManyConnections].contains(code)
    self.init(code, sentence, underlying: failure, isRetryable: isRetryable)
  }

  /// The error of a broken connection.
  static func connectionLost(_ failure: PostgreSQLFailure? = nil) -> CoherenceError {
    CoherenceError(
      .connectionLost, "The connection to the PostgreSQL server broke; try again.", underlying: failure,
      isRetryable: true)
  }

  private static func explanation(_ failure: PostgreSQLFailure) -> (ErrorCode, String) {
    if failure.sqlState.hasPrefix("28") {
      return (.authenticationFailed, "The PostgreSQL server refused the user or the password; check both.")
    }
    if failure.sqlState == "57P03" {
      return (.serverUnreachable, "The PostgreSQL server is starting or stopping; try again in a while.")
    }
    if failure.isDisconnection { return (.connectionLost, connectionLost().message) }
    if failure.sqlState.hasPrefix("22") {
      return (.invalidValue, "The PostgreSQL server cannot keep a value (\(failure)); change it.")
    }
    return known[failure.sqlState] ?? unknown(failure)
  }

  private static let known: [String: (ErrorCode, String)] = [
    "53300": (.tooManyConnections, "The PostgreSQL server has no connection left; close some, or try again later."),
    "55P03": (.storeBusy, "Another connection holds a lock for too long; try again."),
    "40001": (.storeBusy, "The save conflicted with other saves in every attempt and was not applied; try again."),
    "40P01": (.storeBusy, "The save met a deadlock with other saves in every attempt, and was not applied; try again."),
    "57014": (.storeBusy, "A statement took longer than it may; try again, or raise the option 'statementTimeout'."),
    "25006": (.storeReadOnly, "The PostgreSQL server, or the store's option 'readOnly', forbids writing."),
    "53100": (.storeFull, "The disk of the PostgreSQL server is full; make room and try again."),
    "53200": (.storeBusy, "The PostgreSQL server is out of memory; try again later."),
    "3D000": (.storeInaccessible, "The PostgreSQL server has no database of that name; create it, or correct the URL."),
    "42501": (.storeInaccessible, "The user lacks a right in the PostgreSQL database; grant it."),
    "23505": (.uniquenessViolated, "Two records would have the same values of unique properties; change one of them."),
    "23503": (
      .danglingReference,
      "A relationship leads to a record that does not exist, or a deleted record is still referred to."
    ),
  ]

  private static func unknown(_ failure: PostgreSQLFailure) -> (ErrorCode, String) {
    if ["42703", "42P01", "3F000"].contains(failure.sqlState) {
      return (
        .schemaChanged,
        "Another program has changed the store's tables (\(failure)); detach the store and attach it again."
      )
    }
    if failure.sqlState == "54000", failure.message?.contains("index row") == true {
      return (
        .limitExceeded,
        "A text or data of an indexed or unique property is too long for an index of PostgreSQL (\(failure)); leave the "
          + "property out of indexes, or index an attribute with a shorter value, such as a digest."
      )
    }
    return switch failure.sqlState.prefix(2) {
    case "42", "3F":
      (
        .unsupported,
        "The PostgreSQL server refuses a statement (\(failure)); report this with the predicate and the model."
      )
    case "54":
      (.limitExceeded, "The PostgreSQL server cannot take something of that size (\(failure)); ask for less at once.")
    case "23": (.invalidValue, "A constraint that is not the model's refuses a value (\(failure)).")
    case "58", "XX": (.inputOutput, "The PostgreSQL server failed (\(failure)).")
    case "0A": (.unsupported, "The PostgreSQL server cannot do what was asked (\(failure)).")
    default: (.inputOutput, "A statement failed in the PostgreSQL server (\(failure)).")
    }
  }
}
