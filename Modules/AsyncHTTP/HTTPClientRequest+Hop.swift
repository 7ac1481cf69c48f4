import AsyncHTTPClient
import CoherenceHTTP
import Foundation
import HTTPTypes
import HTTPTypesFoundation
import NIOHTTP1

extension HTTPClientRequest {
  /// Makes the request of a hop: the original request, or a request to the target of a redirect. Returns `nil` for a
  /// request without a complete address, and for a port out of range, at which the library ends the process.
  init?(_ hop: HTTPHop) {
    guard let url = hop.request.url, url.hasValidPort else { return nil }
    self.init(url: url.absoluteString)
    method = HTTPMethod(rawValue: hop.request.method.rawValue)
    headers = HTTPHeaders(hop.request.headerFields)
    body = hop.body.map { .bytes($0) }
  }
}

extension URL {
  /// Whether the port, if there is one, is a 16-bit number. Redirects and links of a server may have any number.
  fileprivate var hasValidPort: Bool { port.map { UInt16(exactly: $0) != nil } ?? true }
}

extension HTTPHeaders {
  /// The header fields of a request, with Accept and User-Agent if they are missing: a `URLSession` adds both, and some
  /// services refuse requests without them.
  fileprivate init(_ fields: HTTPFields) {
    self.init()
    // A request must have a single Cookie field (RFC 6265, 5.4).
    let cookies = fields[values: .cookie]
    for field in fields where field.name != .cookie { add(name: field.name.rawName, value: field.value) }
    if !cookies.isEmpty { add(name: "Cookie", value: cookies.joined(separator: "; ")) }
    if fields[.accept] == nil { add(name: "Accept", value: "*/*") }
    if fields[.userAgent] == nil { add(name: "User-Agent", value: Self.userAgent) }
  }

  /// The name of the program, in the characters that a header field allows.
  private static let userAgent = String(
    ProcessInfo.processInfo.processName.map {
      $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0)) ? $0 : "_"
    })
}

extension HTTPResponse {
  /// Makes the head of a response, without header fields whose names HTTP does not allow. Returns `nil` for a status code
  /// outside of 100…999, which is no HTTP status: HTTPTypes traps for a greater one.
  init?(_ reply: HTTPClientResponse) {
    guard 100...999 ~= reply.status.code else { return nil }
    var fields = HTTPFields()
    for (name, value) in reply.headers {
      guard let name = HTTPField.Name(name) else { continue }
      fields.append(HTTPField(name: name, value: value))
    }
    self.init(status: Status(code: Int(reply.status.code)), headerFields: fields)
  }
}
