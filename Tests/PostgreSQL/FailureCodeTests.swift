import CoherenceCore
@testable import CoherencePostgreSQL
import Foundation
import Testing

/// The errors for the codes of the server. The tests need no server.
@Suite struct FailureCodeTests {
  static let codes: [(String, ErrorCode, Bool)] = [
    ("28P01", .authenticationFailed, false), ("57P03", .serverUnreachable, true),
    // Connections that end.
    ("08006", .connectionLost, true), ("57P01", .connectionLost, true), ("57P02", .connectionLost, true),
    ("57P05", .connectionLost, true), ("25P03", .connectionLost, true), ("25P04", .connectionLost, true),
    ("40003", .connectionLost, true), ("26000", .inputOutput, true), ("42P05", .inputOutput, true),
    // Limits and locks.
    ("53300", .tooManyConnections, true), ("55P03", .storeBusy, true), ("40001", .storeBusy, true),
    ("40P01", .storeBusy, true), ("57014", .storeBusy, true), ("53200", .storeBusy, true), ("53100", .storeFull, false),
    ("54000", .limitExceeded, false), ("25006", .storeReadOnly, true),
    // Rights and tables.
    ("3D000", .storeInaccessible, false), ("42501", .storeInaccessible, false), ("42703", .schemaChanged, false),
    ("42P01", .schemaChanged, false), ("3F000", .schemaChanged, false), ("42601", .unsupported, false),
    ("0A000", .unsupported, false),
    // Values.
    ("22003", .invalidValue, false), ("23505", .uniquenessViolated, false), ("23503", .danglingReference, false),
    ("23514", .invalidValue, false),
    // Failures of the server.
    ("58030", .inputOutput, false), ("XX000", .inputOutput, false), ("99999", .inputOutput, false),
  ]

  @Test(arguments: codes)
  func `each code of the server has an error, which is retryable if another attempt may succeed`(
    sqlState: String, code: ErrorCode, isRetryable: Bool
  ) {
    let error = CoherenceError(PostgreSQLFailure(sqlState: sqlState))
    #expect(error.code == code)
    #expect(error.isRetryable == isRetryable)
    #expect(error.serverFailure?.sqlState == sqlState)
  }

  @Test(arguments: ["25P03", "25P04"])
  func `a connection that the server ended for a slow transaction has advice for the server's settings`(
    sqlState: String
  ) {
    let failure = PostgreSQLFailure(sqlState: sqlState, isFatal: true)
    for error in [CoherenceError(failure), .connectionLost(failure)] {
      #expect(error.message.contains("'idle_in_transaction_session_timeout'"))
    }
    #expect(!CoherenceError.connectionLost().message.contains("timeout"))
  }

  @Test func `a fatal failure of any code is a lost connection`() {
    let error = CoherenceError(PostgreSQLFailure(sqlState: "XX000", isFatal: true))
    #expect(error.code == .connectionLost && error.isRetryable)
  }

  @Test func `a plan of a former type of a column is a change of the schema, and the next attempt may succeed`() {
    let error = CoherenceError(PostgreSQLFailure(sqlState: "0A000", hasOutdatedPlan: true))
    #expect(error.code == .schemaChanged && error.isRetryable)
  }

  @Test func `a limit of an index has advice for the property`() {
    let index = CoherenceError(PostgreSQLFailure(sqlState: "54000", message: "index row size 3000 exceeds 2704"))
    #expect(index.message.contains("leave the property out of indexes"))
    let other = CoherenceError(PostgreSQLFailure(sqlState: "54000", message: "too many columns"))
    #expect(other.message.contains("ask for less at once"))
    let code = CoherenceError(PostgreSQLFailure(sqlState: "54001", message: "index row"))
    #expect(code.message.contains("ask for less at once"))
  }

  @Test(arguments: ["08006", "23514", "40001", "42703", "XX000"])
  func `the server's sentence is kept for classes of failures without values`(sqlState: String) {
    #expect(
      PostgreSQLFailure(sqlState: sqlState, message: "sentence").description == "PostgreSQL \(sqlState): sentence")
  }

  @Test(arguments: ["22003", "22P02", "P0001"])
  func `the server's sentence is dropped for other classes, because it may have values`(sqlState: String) {
    #expect(PostgreSQLFailure(sqlState: sqlState, message: "value 7").description == "PostgreSQL \(sqlState)")
  }
}
