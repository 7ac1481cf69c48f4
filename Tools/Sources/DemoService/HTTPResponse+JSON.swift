import FlyingFox
import Foundation

extension HTTPHeader {
  static let ifMatch = HTTPHeader("If-Match")
  static let idempotencyKey = HTTPHeader("Idempotency-Key")
}

extension HTTPResponse {
  /// Makes a response with a value; with 304 and no body if the client already has the value.
  static func json(
    _ value: some Encodable, for request: HTTPRequest, status: HTTPStatusCode = .ok
  ) -> HTTPResponse {
    guard let tag = try? ContentTag(encoding: value) else {
      return .problem(
        .internalServerError, "The answer cannot be written as JSON; report this as a fault of the service.")
    }
    if request.method == .GET, request.headers[.ifNoneMatch] == tag.header {
      return HTTPResponse(statusCode: .notModified, headers: HTTPHeaders([.eTag: tag.header]))
    }
    return HTTPResponse(
      statusCode: status, headers: HTTPHeaders([.contentType: "application/json", .eTag: tag.header]), body: tag.body)
  }

  /// Makes a response that refuses a request with a message.
  static func problem(_ code: HTTPStatusCode, _ message: String) -> HTTPResponse {
    let body = (try? JSONEncoder().encode(ServiceProblem(message: message))) ?? Data()
    return HTTPResponse(statusCode: code, headers: HTTPHeaders([.contentType: "application/json"]), body: body)
  }
}

/// A value as JSON, with the entity tag made of it: equal content has the same tag on every machine.
struct ContentTag {
  let body: Data
  let header: String

  init(encoding value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    body = try encoder.encode(value)
    header = "\"\(String(Self.fingerprint(body), radix: 16))\""
  }

  /// FNV-1a. Swift's own hashes differ from run to run, and a client may keep its tags.
  private static func fingerprint(_ data: Data) -> UInt64 {
    data.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
  }
}
