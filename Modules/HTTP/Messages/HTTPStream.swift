import CoherenceCore
public import Foundation
public import HTTPTypes

/// A reply whose body may still be arriving. ``HTTPClient/stream(_:body:)`` returns it at the head of the reply.
public struct HTTPStream: Sendable {
  /// The request as the client was asked to send it, also after a redirect.
  public var request: HTTPRequest
  /// Status and header fields.
  public var response: HTTPResponse
  /// The body, which can be read once.
  public var body: HTTPBody
  /// The address of the reply, which differs from the request's address after a redirect.
  public var url: URL?

  /// Makes a stream.
  ///
  /// - Parameter url: By default the request's address.
  public init(to request: HTTPRequest, response: HTTPResponse, body: HTTPBody, url: URL? = nil) {
    self.request = request
    self.response = response
    self.body = body
    self.url = url ?? request.url
  }

  /// Makes a stream of a complete reply.
  public init(_ reply: HTTPReply) {
    self.init(to: reply.request, response: reply.response, body: HTTPBody(reply.body), url: reply.url)
  }

  /// The status of the reply.
  public var status: HTTPResponse.Status { response.status }

  /// Whether the content has not changed since the client received it (304). The body is empty then.
  public var isUnchanged: Bool { status == .notModified }

  /// Returns the reply itself, if its status is a success.
  ///
  /// - Throws: ``ErrorCode/httpStatus`` for a status other than 2xx; the ``HTTPFailure`` has it.
  @discardableResult
  public func successful() throws -> HTTPStream {
    guard status.kind == .successful else { throw HTTPFailure(status: self).error }
    return self
  }

  /// Reads the body into memory.
  ///
  /// - Throws: The errors of the ``body``.
  public func collected() async throws -> HTTPReply {
    var data = Data()
    for try await part in body { data.append(part) }
    return HTTPReply(to: request, response: response, body: data, url: url)
  }
}
