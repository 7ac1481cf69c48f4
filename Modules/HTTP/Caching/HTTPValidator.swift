import Foundation
public import HTTPTypes

/// What a server gave to tell later whether its content changed: an entity tag, a date, or both.
public struct HTTPValidator: Sendable, Hashable, Codable {
  /// As it came, with its quotation marks, and `W/` if it is a weak one.
  public var eTag: String?
  /// As it came: a server compares it with what it sent.
  public var lastModified: String?

  public init(eTag: String? = nil, lastModified: String? = nil) {
    self.eTag = eTag
    self.lastModified = lastModified
  }

  /// The validator of a reply; `nil` when it has none.
  public init?(of reply: HTTPReply) {
    let fields = reply.response.headerFields
    guard fields[.eTag] != nil || fields[.lastModified] != nil else { return nil }
    self.init(eTag: fields[.eTag], lastModified: fields[.lastModified])
  }

  /// The request, asking for the content only if it changed: the reply is a 304 otherwise.
  public func applied(to request: HTTPRequest) -> HTTPRequest {
    var request = request
    // Both may stand there: a server that knows tags goes by the tag (RFC 9110, 13.2.2).
    if let eTag { request.headerFields[.ifNoneMatch] = eTag }
    if let lastModified { request.headerFields[.ifModifiedSince] = lastModified }
    return request
  }
}
