public import Foundation
import HTTPTypes

/// A recorded request and its reply, redacted by an ``HTTPRedaction``.
public struct HTTPExchange: Sendable, Hashable, Codable {
  /// The method of the request.
  public var method: String
  /// The address of the request, without name, password and fragment.
  public var url: String
  /// The body of the request; `nil` for a request without one.
  public var requestBody: HTTPRecordedBody?
  /// The status code of the reply.
  public var status: Int
  /// The reply's header fields by name. Fields of one name are joined by commas.
  public var headerFields: [String: String]
  /// The body of the reply; `nil` for an empty body.
  public var body: HTTPRecordedBody?
  /// The address of the reply, where a redirect changed it.
  public var replyURL: String?

  /// Makes an exchange, for tests without a recording.
  public init(
    method: String = "GET", url: String, requestBody: HTTPRecordedBody? = nil, status: Int = 200,
    headerFields: [String: String] = [:], body: HTTPRecordedBody? = nil, replyURL: String? = nil
  ) {
    self.method = method
    self.url = url
    self.requestBody = requestBody
    self.status = status
    self.headerFields = headerFields
    self.body = body
    self.replyURL = replyURL
  }

  /// Makes the redacted exchange of a request and its reply.
  init(_ request: HTTPRequest, _ requestBody: Data?, _ reply: HTTPReply, by redactor: inout HTTPRedactor) {
    method = request.method.rawValue
    url = redactor.address(of: request)
    if let requestBody { self.requestBody = redactor.body(requestBody, of: request) }
    status = reply.status.code
    headerFields = redactor.fields(reply.response.headerFields)
    if !reply.body.isEmpty { body = redactor.body(reply.body, of: reply.response) }
    if let address = reply.url, address != request.url { replyURL = redactor.address(address.absoluteString) }
    // The recorded length may differ from the redacted body's, which would mean an incomplete reply.
    let length = body?.data.count ?? 0
    if length != reply.body.count { headerFields = headerFields.filter { $0.key.lowercased() != "content-length" } }
  }

  /// Returns the recorded reply as the reply to a request.
  func reply(to request: HTTPRequest) -> HTTPReply {
    var fields = HTTPFields()
    for (name, value) in headerFields.sorted(by: { $0.key < $1.key }) {
      if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
    }
    let response = HTTPResponse(status: HTTPResponse.Status(code: status), headerFields: fields)
    return HTTPReply(
      to: request, response: response, body: body?.data ?? Data(), url: replyURL.flatMap { URL(string: $0) })
  }
}

/// A recorded body: text if possible, so that a recording can be read and edited.
public enum HTTPRecordedBody: Sendable, Hashable, Codable {
  /// A body in UTF-8.
  case text(String)
  /// A body of other bytes.
  case base64(Data)

  /// Makes a text of valid UTF-8, and otherwise bytes.
  public init(_ data: Data) {
    if let text = String(validating: data, as: UTF8.self) { self = .text(text) } else { self = .base64(data) }
  }

  /// The bytes of the body.
  public var data: Data {
    switch self {
    case .text(let text): Data(text.utf8)
    case .base64(let data): data
    }
  }
}
