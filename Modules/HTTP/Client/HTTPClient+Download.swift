import CoherenceCore
public import Foundation
public import HTTPTypes

extension HTTPClient {
  /// Sends a request without a body, and returns when the reply's head is there; see ``stream(_:body:)``.
  public func stream(_ request: HTTPRequest) async throws -> HTTPStream { try await stream(request, body: nil) }

  /// The reply of ``send(_:body:)``, as a whole: for clients that cannot do better, and for those that have to know the
  /// whole body, as ``HTTPRecorder`` and ``HTTPReplay``.
  public func stream(_ request: HTTPRequest, body: Data?) async throws -> HTTPStream {
    HTTPStream(try await send(request, body: body))
  }

  /// Sends a request, and writes the reply's body to a file while it comes in.
  ///
  /// The file is there when the body is whole, and not before: one that is there already is replaced at once, and stays
  /// as it is when anything fails. Its owner alone can read and write it. A large body is decoded from the file without
  /// being in memory twice: `Data(contentsOf: file, options: .mappedIfSafe)`.
  ///
  /// - Returns: The reply, with an empty body. After a 304 the file is as it was: see ``HTTPReply/isUnchanged``.
  /// - Throws: ``ErrorCode/httpStatus`` for a status that is none of success; as ``stream(_:body:)`` and ``HTTPBody``;
  ///   ``ErrorCode/inputOutput`` when the file cannot be written.
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
