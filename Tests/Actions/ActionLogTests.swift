import CoherenceActions
import CoherenceCore
import CoherenceInMemory
import CoherenceStrategies
import Foundation
import Logging
import TestSupport
import Testing

@Suite("The log of actions")
struct ActionLogTests {
  private let log = MessageLog()

  private struct ThrowingAction: GenericAction {
    let error: any Error

    func execute() throws { throw error }
  }

  private enum ServiceError: Error {
    case unauthorized(url: String)
    case closed
  }

  private struct DescribedError: Error, CustomStringConvertible {
    var description: String { "GET https://example.org/?token=sesame failed" }
  }

  private struct ReportedError: LoggableError {
    let token: String
    var logDescription: String { "The service is closed." }
  }

  /// The log entry of an action that throws an error.
  private func entries(of error: any Error) async throws -> [String] {
    let connect = TestConnect(name: "Log", managedObjectModel: ConnectModels.main, logger: log.logger)
    try connect.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    try await connect.start()
    let (stream, continuation) = AsyncStream<Void>.makeStream()
    _ = try connect.execute(ThrowingAction(error: error)) { _ in continuation.finish() }
    // The completion is called after the entry was written.
    for await _ in stream {}
    try await connect.stop()
    return log.texts(.error)
  }

  @Test func `the log contains no values of a web service's error`() async throws {
    let texts = try await entries(of: ServiceError.unauthorized(url: "https://example.org/?token=sesame"))
    #expect(texts.count == 1)
    #expect(texts.allSatisfy { !$0.contains("sesame") && !$0.contains("example.org") })
    #expect(texts.allSatisfy { $0.contains("ServiceError.unauthorized") })
  }

  @Test func `the log has only the type of an error with a description of its own`() async throws {
    let texts = try await entries(of: DescribedError())
    #expect(texts.allSatisfy { !$0.contains("sesame") && $0.contains("DescribedError") })
    #expect(texts.count == 1)
  }

  @Test func `the log has the name of an error case without associated values`() async throws {
    let texts = try await entries(of: ServiceError.closed)
    #expect(texts.count == 1)
    #expect(texts.allSatisfy { $0.contains("ServiceError.closed") })
  }

  @Test func `the log has the type and code of a system error and no path`() async throws {
    let path = "/home/ada/sesame"
    let texts = try await entries(of: CocoaError(.fileNoSuchFile, userInfo: [NSFilePathErrorKey: path]))
    #expect(texts.count == 1)
    let code = CocoaError.Code.fileNoSuchFile.rawValue
    #expect(texts.allSatisfy { !$0.contains("sesame") && $0.contains("CocoaError \(code)") })
  }

  @Test func `the log has the text of framework errors and of loggable errors`() async throws {
    let reported = try await entries(of: ReportedError(token: "sesame"))
    #expect(reported.count == 1)
    #expect(reported.allSatisfy { $0.contains("The service is closed.") && !$0.contains("sesame") })
    let known = try await entries(of: CoherenceError(.illegalState, "The store is closed; open it."))
    #expect(known.last?.contains("illegalState: The store is closed; open it.") == true)
  }
}
