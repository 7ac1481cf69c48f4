import CoherenceCore
public import Foundation
public import HTTPTypes

/// A complete reply of a server: the head and the body.
public struct HTTPReply: Sendable, Hashable {
  /// The request as the client was asked to send it, also after a redirect.
  public var request: HTTPRequest
  /// Status and header fields.
  public var response: HTTPResponse
  /// The whole body.
  public var body: Data
  /// The address of the reply, which differs from the request's address after a redirect.
  public var url: URL?

  /// Makes a reply.
  ///
  /// - Parameter url: By default the request's address.
  public init(to request: HTTPRequest, response: HTTPResponse, body: Data = Data(), url: URL? = nil) {
    self.request = request
    self.response = response
    self.body = body
    self.url = url ?? request.url
  }

  /// The status of the reply.
  public var status: HTTPResponse.Status { response.status }

  /// Whether the content has not changed since the client received it (304). The reply then has no content to merge.
  public var isUnchanged: Bool { status == .notModified }

  /// Returns the reply itself, if its status is a success.
  ///
  /// - Throws: ``ErrorCode/httpStatus`` for a status other than 2xx; the ``HTTPFailure`` has it.
  @discardableResult
  public func successful() throws -> HTTPReply {
    guard status.kind == .successful else { throw HTTPFailure(status: self).error }
    return self
  }

  /// Decodes the body as JSON.
  ///
  /// - Throws: ``ErrorCode/httpStatus`` for a status other than 2xx; ``ErrorCode/httpUnreadable`` when the body is no JSON
  ///   of the type. The error names the position in the body, and contains no values.
  public func decode<Content: Decodable>(
    _ type: Content.Type, by decoder: JSONDecoder = JSONDecoder()
  ) throws -> Content {
    try successful()
    do {
      return try decoder.decode(type, from: body)
    } catch let error as DecodingError {
      throw HTTPFailure(to: request, status: status.code).unreadable(error, as: type)
    }
  }
}
