import Foundation
public import HTTPTypes

/// The validator of some content, with which a server can decide later whether the content has changed: an entity tag, a
/// date, or both.
public struct HTTPValidator: Sendable, Hashable, Codable {
  /// The entity tag as received, with quotation marks, and with `W/` for a weak tag.
  public var eTag: String?
  /// The date as received: a server compares texts.
  public var lastModified: String?

  /// Makes a validator.
  public init(eTag: String? = nil, lastModified: String? = nil) {
    self.eTag = eTag
    self.lastModified = lastModified
  }

  /// Makes the validator of a reply; `nil` for a reply without one.
  public init?(of reply: HTTPReply) {
    let fields = reply.response.headerFields
    guard fields[.eTag] != nil || fields[.lastModified] != nil else { return nil }
    self.init(eTag: fields[.eTag], lastModified: fields[.lastModified])
  }

  /// Returns the request with conditions: the reply to unchanged content is a 304.
  public func applied(to request: HTTPRequest) -> HTTPRequest {
    var request = request
    // A request may have both conditions: a server that supports tags ignores the date (RFC 9110, 13.2.2).
    if let eTag { request.headerFields[.ifNoneMatch] = eTag }
    if let lastModified { request.headerFields[.ifModifiedSince] = lastModified }
    return request
  }
}
