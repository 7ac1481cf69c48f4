import Foundation
import HTTPTypes

/// Replaces secret values in requests and replies by placeholders.
struct HTTPRedactor: Sendable {
  let redaction: HTTPRedaction
  private var placeholders = HTTPPlaceholders()

  init(_ redaction: HTTPRedaction) { self.redaction = redaction }

  // MARK: Addresses

  mutating func address(of request: HTTPRequest) -> String { address(request.url?.absoluteString ?? "") }

  mutating func address(_ text: String) -> String {
    guard var components = HTTPAddress.components(of: text) else { return placeholders.placeholder(for: text) }
    if let query = components.percentEncodedQuery { components.percentEncodedQuery = parameters(query) }
    return components.string ?? placeholders.placeholder(for: text)
  }

  /// Redacts `name=value&…`: the query of an address, or a form.
  private mutating func parameters(_ text: String) -> String {
    var parts: [String] = []
    for part in text.split(separator: "&", omittingEmptySubsequences: false) { parts.append(parameter(part)) }
    return parts.joined(separator: "&")
  }

  private mutating func parameter(_ text: Substring) -> String {
    let equals = text.firstIndex(of: "=") ?? text.endIndex
    let name = decoded(text[..<equals])
    if text.isEmpty || redaction.allows(parameter: name) { return String(text) }
    // Without a name, the text may be the secret itself.
    guard equals < text.endIndex else { return placeholders.placeholder(for: name) }
    let value = decoded(text[text.index(after: equals)...])
    return value.isEmpty ? String(text) : String(text[...equals]) + placeholders.placeholder(for: value)
  }

  /// A name or value of a form without its escapes, so that the same secret in another form has the same placeholder.
  private func decoded(_ text: Substring) -> String {
    String(text.map { $0 == "+" ? " " : $0 }).removingPercentEncoding ?? String(text)
  }

  // MARK: Header fields

  /// The redacted fields by name. Fields of one name are joined by commas.
  mutating func fields(_ fields: HTTPFields) -> [String: String] {
    var result: [String: String] = [:]
    for field in fields {
      let text = value(of: field)
      result[field.name.rawName] = result[field.name.rawName].map { "\($0), \(text)" } ?? text
    }
    return result
  }

  private mutating func value(of field: HTTPField) -> String {
    guard redaction.allows(headerField: field.name.canonicalName) else {
      return placeholders.placeholder(for: field.value)
    }
    switch field.name.canonicalName {
    case "location", "content-location": return address(field.value)
    case "link": return links(field.value)
    default: return field.value
    }
  }

  /// Redacts the addresses of a field `Link`: `<address>; rel="next", <address>; …`.
  private mutating func links(_ text: String) -> String {
    var result = ""
    var rest = text[...]
    while let open = rest.firstIndex(of: "<"), let close = rest[open...].firstIndex(of: ">") {
      result.append(contentsOf: rest[...open])
      result.append(address(String(rest[rest.index(after: open)..<close])))
      rest = rest[close...]
    }
    result.append(contentsOf: rest)
    return result
  }

  // MARK: Bodies

  mutating func body(_ data: Data, of request: HTTPRequest) -> HTTPRecordedBody {
    if let body = redactedFields(in: data, request.headerFields, isRequest: true) { return body }
    if data.isEmpty || redaction.recordsOpaqueBodies { return HTTPRecordedBody(data) }
    return .text(placeholders.placeholder(for: data.base64EncodedString()))
  }

  mutating func body(_ data: Data, of response: HTTPResponse) -> HTTPRecordedBody {
    redactedFields(in: data, response.headerFields, isRequest: false) ?? HTTPRecordedBody(data)
  }

  /// The body with its secret fields replaced; `nil` for a body other than JSON and forms.
  private mutating func redactedFields(in data: Data, _ fields: HTTPFields, isRequest: Bool) -> HTTPRecordedBody? {
    guard let text = String(validating: data, as: UTF8.self) else { return nil }
    if fields[.contentType]?.lowercased().contains("x-www-form-urlencoded") == true { return .text(parameters(text)) }
    do throws(JSONDocument.TooDeep) {
      guard let json = try JSONDocument(text) else { return nil }
      return .text(json.replacing(replacements(in: json, isRequest: isRequest)))
    } catch {
      // The fields cannot be read, so that any value may be secret.
      return .text(placeholders.placeholder(for: text))
    }
  }

  /// The replacements of the secret values of a JSON body.
  private mutating func replacements(in json: JSONDocument, isRequest: Bool) -> [JSONDocument.Edit] {
    var edits: [JSONDocument.Edit] = []
    // A body repeats few names many times, so the decisions are cached.
    var decisions: [String: Bool] = [:]
    let values = json.values { name in
      if let isSecret = decisions[name] { return isSecret }
      let isSecret = redaction.isSecret(field: name)
      decisions[name] = isSecret
      return isSecret
    }
    for value in values {
      // In replies only texts are replaced: credentials are texts, and a decoded type needs its numbers.
      guard value.isText || isRequest, !value.content.isEmpty, value.content != "null" else { continue }
      edits.append(JSONDocument.Edit(range: value.range, text: "\"\(placeholders.placeholder(for: value.content))\""))
    }
    return edits
  }
}

/// The form of addresses in a recording.
enum HTTPAddress {
  /// The components of an address without name, password and fragment; `nil` for a text that is no address.
  static func components(of text: String) -> URLComponents? {
    guard var components = URLComponents(string: text) else { return nil }
    components.user = nil
    components.password = nil
    components.fragment = nil
    return components
  }
}
