import CoherenceCore
public import Foundation
public import HTTPTypes

/// What a server answers: the head, and the body while it comes in.
///
/// Made by ``HTTPClient/stream(_:body:)``, as soon as the head is there.
public struct HTTPStream: Sendable {
  /// The request that this answers.
  public var request: HTTPRequest
  /// Status and header fields.
  public var response: HTTPResponse
  public var body: HTTPBody
  /// The address that the reply comes from: after redirects another one than the request's.
  public var url: URL?

  /// - Parameter url: The request's address by default.
  public init(to request: HTTPRequest, response: HTTPResponse, body: HTTPBody, url: URL? = nil) {
    self.request = request
    self.response = response
    self.body = body
    self.url = url ?? request.url
  }

  /// A reply that is there as a whole.
  public init(_ reply: HTTPReply) {
    self.init(to: reply.request, response: reply.response, body: HTTPBody(reply.body), url: reply.url)
  }

  public var status: HTTPResponse.Status { response.status }

  /// Whether the server says that the client has the content already (304): there is nothing to read.
  public var isUnchanged: Bool { status == .notModified }

  /// The reply itself, if it is one of success.
  ///
  /// - Throws: ``ErrorCode/httpStatus`` for a status other than 2xx; the ``HTTPFailure`` has it.
  @discardableResult
  public func successful() throws -> HTTPStream {
    guard status.kind == .successful else { throw HTTPFailure(status: self).error }
    return self
  }

  /// Reads the body into memory.
  ///
  /// - Throws: As the ``body``.
  public func collected() async throws -> HTTPReply {
    var data = Data()
    for try await part in body { data.append(part) }
    return HTTPReply(to: request, response: response, body: data, url: url)
  }
}
