import CoherenceCore
import Foundation
import Testing

/// The texts of errors and of their details, for developers and for logs.
@Suite struct ErrorTextTests {
  private enum Failure: Error {
    case plain
    case quoting(address: String)
  }

  private enum SpeakingFailure: Error, CustomStringConvertible {
    case plain
    var description: String { "the token is secret" }
  }

  private struct ValueFailure: Error { let token = "secret" }

  private struct SystemFailure: CustomNSError { var errorCode: Int { 7 } }

  private struct WrittenFailure: LoggableError { var logDescription: String { "is written down" } }

  @Test func `a log has the type, the case or the code of an error, and quotes only an error made for logs`() {
    #expect(Failure.plain.logText == "Failure.plain")
    #expect(Failure.quoting(address: "secret").logText == "Failure.quoting")
    #expect(SpeakingFailure.plain.logText == "SpeakingFailure")
    #expect(ValueFailure().logText == "ValueFailure")
    #expect(SystemFailure().logText == "SystemFailure 7")
    #expect(WrittenFailure().logText == "is written down")
    #expect(CoherenceError(.noStore, "No store.").logText == "noStore: No store.")
  }

  @Test func `the text of an error ends with the failures of the validation`() throws {
    let id = try QueryLibrary().make("Artist").id
    var error = CoherenceError(.validationFailed, "2 value(s) do not satisfy the model.")
    #expect("\(error)" == "validationFailed: 2 value(s) do not satisfy the model.")
    error.failures = [("name", "is too long"), ("", "is refused")].map { name, reason in
      ValidationFailure(
        code: .invalidValue, objectID: id, entityName: "Artist", propertyName: name, reason: reason)
    }
    #expect(
      "\(error)"
        == "validationFailed: 2 value(s) do not satisfy the model. Artist.name: is too long. Artist: is refused.")
  }

  @Test func `a code matches the errors with this code alone`() {
    let error: any Error = CoherenceError(.noStore, "No store.")
    #expect(ErrorCode.noStore ~= error)
    #expect(!(ErrorCode.storeBusy ~= error))
    #expect(!(ErrorCode.noStore ~= Failure.plain))
  }

  @Test func `an error is not applied and not retryable unless its maker says otherwise`() {
    let error = CoherenceError(.storeBusy, "Busy.")
    #expect(error.outcome == .notApplied && !error.isRetryable && error.underlying == nil)
    let other = CoherenceError(.storeBusy, "Busy.", underlying: error, outcome: .unknown, isRetryable: true)
    #expect(other.outcome == .unknown && other.isRetryable && other.underlying is CoherenceError)
  }

  @Test func `a data loss counts values of a column, and records of a table`() {
    func text(_ column: String?, _ count: Int) -> String {
      DataLoss(table: "Album", column: column, count: count, reason: "The model lacks it").description
    }
    #expect(text("year", 1) == "The model lacks it (column 'year' of table 'Album': 1 value)")
    #expect(text("year", 2) == "The model lacks it (column 'year' of table 'Album': 2 values)")
    #expect(text(nil, 1) == "The model lacks it (table 'Album': 1 record)")
    #expect(text(nil, 0) == "The model lacks it (table 'Album': 0 records)")
  }

  @Test func `duplicate keys name the properties, the numbers and a few records`() throws {
    func text(_ values: Int, _ examples: [ManagedObjectID]) -> String {
      DuplicateKeys(
        entityName: "Album", propertyNames: ["title", "year"], valueCount: values, recordCount: 5, examples: examples
      ).description
    }
    let id = try QueryLibrary().make("Album").id
    #expect(text(1, []) == "'Album' is to be unique in 'title', 'year', and 1 value is shared by 5 records")
    #expect(
      text(2, [id, id])
        == "'Album' is to be unique in 'title', 'year', and 2 values are shared by 5 records "
        + "(among them p\(id.key), p\(id.key))")
  }

  @Test func `a service is unavailable by the word of the error, or of the error that caused it`() {
    struct Report: AvailabilityReporting { let isServiceUnavailable: Bool }
    func wrapped(_ error: any Error) -> CoherenceError { CoherenceError(.inputOutput, "Failed.", underlying: error) }
    #expect(RetryPolicy.isServiceUnavailable(Report(isServiceUnavailable: true)))
    #expect(!RetryPolicy.isServiceUnavailable(Report(isServiceUnavailable: false)))
    #expect(RetryPolicy.isServiceUnavailable(wrapped(wrapped(Report(isServiceUnavailable: true)))))
    #expect(RetryPolicy.isServiceUnavailable(wrapped(CoherenceError(.serverUnreachable, "Away."))))
    #expect(!RetryPolicy.isServiceUnavailable(wrapped(Failure.plain)))
    for code in [-1001, -1003, -1004, -1005, -1006, -1009] {
      #expect(RetryPolicy.isServiceUnavailable(wrapped(NSError(domain: NSURLErrorDomain, code: code))))
    }
    #expect(!RetryPolicy.isServiceUnavailable(NSError(domain: NSURLErrorDomain, code: -1000)))
    #expect(!RetryPolicy.isServiceUnavailable(NSError(domain: NSPOSIXErrorDomain, code: -1001)))
  }

  @Test func `the advice about the next attempt is that of the causing error, and ends at a century`() {
    struct Advice: RetryAdvising {
      let delay: Duration?
      func retryDelay(at now: Date) -> Duration? { delay }
    }
    func advised(_ error: any Error) -> Duration? { RetryPolicy.advisedDelay(of: error, at: .now) }
    let century = Duration.seconds(36_525 * 86_400)
    #expect(advised(Advice(delay: .seconds(3))) == .seconds(3))
    #expect(advised(CoherenceError(.inputOutput, "Failed.", underlying: Advice(delay: .seconds(4)))) == .seconds(4))
    #expect(advised(Advice(delay: century + .seconds(1))) == century)
    #expect(advised(Advice(delay: nil)) == nil)
    #expect(advised(Failure.plain) == nil)
  }
}
