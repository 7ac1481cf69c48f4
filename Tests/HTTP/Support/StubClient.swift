import CoherenceHTTP
import Foundation
import HTTPTypes
import Synchronization

/// A client that replies by a function, without a network.
final class StubClient: HTTPClient {
  private let handler: @Sendable (Int, HTTPRequest) async throws -> HTTPReply
  private let sent = Mutex<[(request: HTTPRequest, body: Data?)]>([])

  /// - Parameter handler: Called with the number of the request, from 0.
  init(_ handler: @escaping @Sendable (Int, HTTPRequest) async throws -> HTTPReply) { self.handler = handler }

  var requests: [HTTPRequest] { sent.withLock { $0.map(\.request) } }
  var bodies: [Data?] { sent.withLock { $0.map(\.body) } }

  func send(_ request: HTTPRequest, body: Data?) async throws -> HTTPReply {
    let number = sent.withLock { sent in
      sent.append((request, body))
      return sent.count - 1
    }
    return try await handler(number, request)
  }
}

extension HTTPReply {
  /// A reply with a text as its body.
  static func make(
    to request: HTTPRequest, _ status: Int = 200, _ fields: [String: String] = [:], _ text: String = ""
  ) -> HTTPReply {
    var headerFields = HTTPFields()
    for (name, value) in fields { headerFields[HTTPField.Name(name)!] = value }
    let response = HTTPResponse(status: HTTPResponse.Status(code: status), headerFields: headerFields)
    return HTTPReply(to: request, response: response, body: Data(text.utf8))
  }
}

extension HTTPRequest {
  static func get(_ url: URL) -> HTTPRequest { HTTPRequest(method: .get, url: url) }
  static func get(_ text: String) -> HTTPRequest { HTTPRequest(method: .get, url: URL(string: text)!) }
}
