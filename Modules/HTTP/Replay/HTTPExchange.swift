public import Foundation
import HTTPTypes

/// A request and its reply, as they are recorded: without credentials, as the ``HTTPRedaction`` says.
public struct HTTPExchange: Sendable, Hashable, Codable {
  public var method: String
  public var url: String
  public var requestBody: HTTPRecordedBody?
  public var status: Int
  /// The reply's header fields by name; those of one name are joined by commas.
  public var headerFields: [String: String]
  public var body: HTTPRecordedBody?
  /// The address that the reply came from, where redirects led to another than the request's.
  public var replyURL: String?

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

  init(_ request: HTTPRequest, _ requestBody: Data?, _ reply: HTTPReply, by redactor: inout HTTPRedactor) {
    method = request.method.rawValue
    url = redactor.address(of: request)
    if let requestBody { self.requestBody = redactor.body(requestBody, of: request) }
    status = reply.status.code
    headerFields = redactor.fields(reply.response.headerFields)
    if !reply.body.isEmpty { body = redactor.body(reply.body, of: reply.response) }
    if let address = reply.url, address != request.url { replyURL = redactor.address(address.absoluteString) }
    // Another length than the recorded body's would be that of a broken reply.
    let length = body?.data.count ?? 0
    if length != reply.body.count { headerFields = headerFields.filter { $0.key.lowercased() != "content-length" } }
  }

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

/// A body as text, where it is, so that a recording can be read and edited.
public enum HTTPRecordedBody: Sendable, Hashable, Codable {
  case text(String)
  case base64(Data)

  public init(_ data: Data) {
    if let text = String(validating: data, as: UTF8.self) { self = .text(text) } else { self = .base64(data) }
  }

  public var data: Data {
    switch self {
    case .text(let text): Data(text.utf8)
    case .base64(let data): data
    }
  }
}
