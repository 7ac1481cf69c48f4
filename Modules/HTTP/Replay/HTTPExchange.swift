import Foundation
import HTTPTypes

/// A request and its reply, as they are recorded: without credentials.
public struct HTTPExchange: Sendable, Hashable, Codable {
  public var method: String
  public var url: String
  public var requestBody: HTTPRecordedBody?
  public var status: Int
  /// The reply's header fields by name; those of one name are joined by commas.
  public var headerFields: [String: String]
  public var body: HTTPRecordedBody?

  public init(
    method: String = "GET", url: String, requestBody: HTTPRecordedBody? = nil, status: Int = 200,
    headerFields: [String: String] = [:], body: HTTPRecordedBody? = nil
  ) {
    self.method = method
    self.url = url
    self.requestBody = requestBody
    self.status = status
    self.headerFields = headerFields
    self.body = body
  }

  init(_ request: HTTPRequest, _ requestBody: Data?, _ reply: HTTPReply, _ secrets: HTTPSecrets) {
    self.init(
      method: request.method.rawValue, url: secrets.removed(from: request),
      requestBody: requestBody.map(HTTPRecordedBody.init), status: reply.status.code,
      headerFields: secrets.removed(from: reply.response.headerFields),
      body: reply.body.isEmpty ? nil : HTTPRecordedBody(reply.body))
  }

  /// Whether a request is the one that was recorded.
  func isReply(to request: HTTPRequest, _ requestBody: Data?, _ secrets: HTTPSecrets) -> Bool {
    method == request.method.rawValue && url == secrets.removed(from: request) && self.requestBody?.data == requestBody
  }

  func reply(to request: HTTPRequest) -> HTTPReply {
    var fields = HTTPFields()
    for (name, value) in headerFields.sorted(by: { $0.key < $1.key }) {
      if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
    }
    let response = HTTPResponse(status: HTTPResponse.Status(code: status), headerFields: fields)
    return HTTPReply(to: request, response: response, body: body?.data ?? Data())
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

/// What never gets into a recording.
public struct HTTPSecrets: Sendable, Hashable {
  /// Names of query parameters whose values are replaced, in lower case.
  public var queryParameters: Set<String> = [
    "access_token", "api_key", "apikey", "auth", "client_secret", "key", "password", "secret", "sig", "signature",
    "token",
  ]
  /// Names of the reply's header fields that are left out, in lower case. Those of requests are not recorded at all.
  public var headerFields: Set<String> = ["authentication-info", "set-cookie", "www-authenticate"]

  public init() {}

  /// The address without name, password and the values of secret parameters.
  func removed(from request: HTTPRequest) -> String {
    guard let url = request.url, var components = URLComponents(url: url, resolvingAgainstBaseURL: true) else {
      return ""
    }
    components.user = nil
    components.password = nil
    components.fragment = nil
    components.queryItems = components.queryItems?.map { item in
      queryParameters.contains(item.name.lowercased()) ? URLQueryItem(name: item.name, value: "hidden") : item
    }
    return components.string ?? ""
  }

  func removed(from fields: HTTPFields) -> [String: String] {
    var result: [String: String] = [:]
    for field in fields where !headerFields.contains(field.name.canonicalName) {
      result[field.name.rawName] = result[field.name.rawName].map { "\($0), \(field.value)" } ?? field.value
    }
    return result
  }
}
