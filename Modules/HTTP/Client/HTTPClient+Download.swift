import CoherenceCore
public import Foundation
public import HTTPTypes

extension HTTPClient {
  /// Sends a request without a body, and returns at the head of the reply; see ``stream(_:body:)``.
  public func stream(_ request: HTTPRequest) async throws -> HTTPStream { try await stream(request, body: nil) }

  /// Returns the complete reply of ``send(_:body:)`` as a stream: the default for clients that do not stream, or that
  /// need the whole body like ``HTTPRecorder`` and ``HTTPReplay``.
  public func stream(_ request: HTTPRequest, body: Data?) async throws -> HTTPStream {
    HTTPStream(try await send(request, body: body))
  }

  /// Sends a request, and writes the reply's body to a file while it arrives.
  ///
  /// The file appears, or replaces an existing file atomically, after the body is complete. A failure leaves an
  /// existing file unchanged. Only the owner can read and write the file. A large body can be decoded from the file
  /// without a copy in memory: `Data(contentsOf: file, options: .mappedIfSafe)`.
  ///
  /// - Returns: The reply with an empty body. A 304 leaves the file unchanged; see ``HTTPReply/isUnchanged``.
  /// - Throws: ``ErrorCode/httpStatus`` for a status other than 2xx and 304; the errors of ``stream(_:body:)`` and
  ///   ``HTTPBody``; ``ErrorCode/inputOutput`` when the file cannot be written.
  @discardableResult
  public func download(_ request: HTTPRequest, body: Data? = nil, to file: URL) async throws -> HTTPReply {
    let stream = try await stream(request, body: body)
    let reply = HTTPReply(to: stream.request, response: stream.response, url: stream.url)
    if stream.isUnchanged { return reply }
    try stream.successful()
    let draft = try Self.writing(to: file) { try PrivateFile.Draft(of: file) }
    for try await part in stream.body { try Self.writing(to: file) { try draft.write(part) } }
    try Self.writing(to: file) { try draft.commit() }
    return reply
  }

  /// Runs an operation on the file; its error names the file and becomes ``ErrorCode/inputOutput``.
  private static func writing<Result>(to file: URL, _ operation: () throws -> Result) throws -> Result {
    do {
      return try operation()
    } catch {
      throw CoherenceError(
        .inputOutput, "The reply's body cannot be written to '\(file.path)'; check the directory and its free space.",
        underlying: error)
    }
  }
}
