import CoherenceCore
public import Foundation
public import HTTPTypes

/// What a server answered: the head and the whole body.
public struct HTTPReply: Sendable, Hashable {
  /// The request that this answers.
  public var request: HTTPRequest
  /// Status and header fields.
  public var response: HTTPResponse
  public var body: Data
  /// The address that the reply came from: after redirects another one than the request's.
  public var url: URL?

  /// - Parameter url: The request's address by default.
  public init(to request: HTTPRequest, response: HTTPResponse, body: Data = Data(), url: URL? = nil) {
    self.request = request
    self.response = response
    self.body = body
    self.url = url ?? request.url
  }

  public var status: HTTPResponse.Status { response.status }

  /// Whether the server says that the client has the content already (304): there is nothing to merge.
  public var isUnchanged: Bool { status == .notModified }

  /// The reply itself, if it is one of success.
  ///
  /// - Throws: ``ErrorCode/httpStatus`` for a status other than 2xx; the ``HTTPFailure`` has it.
  @discardableResult
  public func successful() throws -> HTTPReply {
    guard status.kind == .successful else { throw HTTPFailure(status: self).error }
    return self
  }

  /// The content, read as JSON.
  ///
  /// - Throws: ``ErrorCode/httpStatus`` for a status other than 2xx; ``ErrorCode/httpUnreadable`` when the body is not
  ///   JSON of that shape. The error tells where in the body, not what is there.
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
