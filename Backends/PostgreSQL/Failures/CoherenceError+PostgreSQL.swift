import CoherenceCore
import CoherenceSQL

extension CoherenceError {
  /// The framework's error for an error of the server.
  init(_ failure: PostgreSQLFailure) {
    let (code, sentence) = Self.explanation(failure)
    let isRetryable =
      failure.isDisconnection || failure.isSerializationFailure || failure.hasOutdatedPlan || failure.isOfOtherSession
      // The next connection may reach the primary.
      || failure.forbidsWriting || [.storeBusy, .tooManyConnections].contains(code)
    self.init(code, sentence, underlying: failure, isRetryable: isRetryable)
  }

  /// The error of a broken connection.
  static func connectionLost(_ failure: PostgreSQLFailure? = nil) -> CoherenceError {
    let message =
      failure?.isOfSlowTransaction == true
      ? "The PostgreSQL server ended the connection, because its transaction was idle or open for too long; shorten the "
        + "block, or raise the server's settings 'idle_in_transaction_session_timeout' and 'transaction_timeout'."
      : "The connection to the PostgreSQL server broke; try again."
    return CoherenceError(.connectionLost, message, underlying: failure, isRetryable: true)
  }

  /// The error of a closed pool.
  static let closedPool = CoherenceError(
    .storeDetached, "The PostgreSQL store was closed; attach the store again before using it.")

  /// The error after the longest wait for a connection of the pool.
  ///
  /// - Parameters:
  ///   - size: The size of the pool.
  ///   - isLimitedByServer: Whether the reason is the server's limit of connections, and not the size of the pool.
  static func exhaustedPool(of size: Int, isLimitedByServer: Bool) -> CoherenceError {
    let message =
      isLimitedByServer
      ? "The PostgreSQL server has no connection left, and all open ones of the store are in use; close connections "
        + "of other programs, or raise the server's limit."
      : "All \(size) connections of the PostgreSQL store are in use; shorten the blocks of contexts that read, or "
        + "raise the option 'poolSize'."
    return CoherenceError(.tooManyConnections, message, isRetryable: true)
  }

  /// The code and the sentence of a failure.
  private static func explanation(_ failure: PostgreSQLFailure) -> (ErrorCode, String) {
    if failure.sqlState.hasPrefix("28") {
      return (.authenticationFailed, "The PostgreSQL server refused the user or the password; check both.")
    }
    if failure.isStarting {
      return (.serverUnreachable, "The PostgreSQL server is starting or stopping; try again in a while.")
    }
    if failure.isDisconnection { return (.connectionLost, connectionLost(failure).message) }
    if failure.isOfData {
      return (.invalidValue, "The PostgreSQL server cannot keep a value (\(failure)); change it.")
    }
    if failure.hasOutdatedPlan {
      return (
        .schemaChanged,
        "Another program has changed the type of a column of the store; try again, and if that fails too, detach the "
          + "store and attach it again."
      )
    }
    if failure.isOfOtherSession {
      return (
        .inputOutput,
        "The session of a connection to the PostgreSQL server has lost its prepared statements; try again, and connect "
          + "without a pooler that changes sessions between transactions."
      )
    }
    return explanations[failure.sqlState] ?? generalExplanation(failure)
  }

  /// The codes and sentences by SQLSTATE, for failures that need no other detail.
  private static let explanations: [String: (ErrorCode, String)] = [
    "53300": (.tooManyConnections, "The PostgreSQL server has no connection left; close some, or try again later."),
    "55P03": (.storeBusy, "Another connection holds a lock for too long; try again."),
    "40001": (
      .storeBusy, "The transaction conflicted with other transactions in every attempt and was not applied; try again."
    ),
    "40P01": (
      .storeBusy, "The transaction met a deadlock with others in every attempt, and was not applied; try again."
    ),
    "57014": (.storeBusy, "A statement took longer than it may; try again, or raise the option 'statementTimeout'."),
    "25006": (
      .storeReadOnly,
      "The PostgreSQL server, or the store's option 'readOnly', forbids writing; connect to the primary, or try again "
        + "after the failover."
    ),
    "53100": (.storeFull, "The disk of the PostgreSQL server is full; make room and try again."),
    "53200": (.storeBusy, "The PostgreSQL server is out of memory; try again later."),
    "3D000": (.storeInaccessible, "The PostgreSQL server has no database of that name; create it, or correct the URL."),
    "42501": (.storeInaccessible, "The user lacks a right in the PostgreSQL database; grant it."),
    "23505": (.uniquenessViolated, "Two records would have the same values of unique properties; change one of them."),
    "23503": (.danglingReference, danglingReferenceMessage),
  ]

  /// The code and the sentence of a failure that ``explanations`` does not list.
  private static func generalExplanation(_ failure: PostgreSQLFailure) -> (ErrorCode, String) {
    if ["42703", "42P01", "3F000"].contains(failure.sqlState) {
      return (
        .schemaChanged,
        "Another program has changed the store's tables (\(failure)); detach the store and attach it again. If the "
          + "error comes again, restore the tables from a backup."
      )
    }
    if failure.sqlState == "54000", failure.message?.contains("index row") == true {
      return (
        .limitExceeded,
        "A text or data of an indexed or unique property is too long for an index of PostgreSQL (\(failure)); leave "
          + "the property out of indexes, or index an attribute with a shorter value, such as a digest."
      )
    }
    return switch failure.sqlState.prefix(2) {
    case "42", "3F":
      (
        .unsupported,
        "The PostgreSQL server refuses a statement (\(failure)); report this with the predicate and the model."
      )
    case "54":
      (.limitExceeded, "A statement exceeds a limit of the PostgreSQL server (\(failure)); ask for less at once.")
    case "23":
      (
        .invalidValue,
        "A constraint that is not the model's refuses a value (\(failure)); change the value, or drop the constraint."
      )
    case "58", "XX": (.inputOutput, "The PostgreSQL server failed (\(failure)).")
    case "0A": (.unsupported, "The PostgreSQL server does not support the statement (\(failure)).")
    default: (.inputOutput, "A statement failed in the PostgreSQL server (\(failure)).")
    }
  }
}
