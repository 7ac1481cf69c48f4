import Foundation
import HTTPTypes

extension HTTPExchange {
  /// Whether a request matches the recorded one by method, address and body.
  ///
  /// - Parameter placeholdersMatch: Whether a placeholder of the recording matches every value.
  func isReply(to request: HTTPRequest, _ body: Data?, placeholdersMatch: Bool) -> Bool {
    guard method == request.method.rawValue else { return false }
    let address = HTTPAddress.components(of: request.url?.absoluteString ?? "")?.string ?? ""
    return isAddress(address, placeholdersMatch: placeholdersMatch)
      && isBody(body ?? Data(), placeholdersMatch: placeholdersMatch)
  }

  private func isAddress(_ address: String, placeholdersMatch: Bool) -> Bool {
    if url == address { return true }
    guard placeholdersMatch else { return false }
    let recorded = url.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let asked = address.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    guard recorded.count == 2, asked.count == 2, recorded[0] == asked[0] else { return false }
    return Self.matches(recorded[1], asked[1])
  }

  private func isBody(_ body: Data, placeholdersMatch: Bool) -> Bool {
    let recorded = requestBody?.data ?? Data()
    if recorded == body { return true }
    guard case .text(let text) = requestBody, let asked = String(validating: body, as: UTF8.self) else {
      return placeholdersMatch && isPlaceholder && !body.isEmpty
    }
    if let json = try? JSONDocument(text), let other = try? JSONDocument(asked) {
      return json.root.equals(other.root, placeholdersMatch: placeholdersMatch)
    }
    guard placeholdersMatch, !body.isEmpty else { return false }
    return isPlaceholder || Self.matches(text[...], asked[...])
  }

  /// Whether the request's body was replaced as a whole.
  private var isPlaceholder: Bool {
    if case .text(let text) = requestBody { HTTPPlaceholders.isPlaceholder(text) } else { false }
  }

  /// Whether parameters, `name=value&…`, equal the recorded ones in order, except for replaced values.
  private static func matches(_ recorded: Substring, _ asked: Substring) -> Bool {
    let recorded = recorded.split(separator: "&", omittingEmptySubsequences: false)
    let asked = asked.split(separator: "&", omittingEmptySubsequences: false)
    return recorded.count == asked.count && zip(recorded, asked).allSatisfy { matchesOne($0, $1) }
  }

  /// Whether one parameter equals the recorded one, except for a replaced value.
  private static func matchesOne(_ recorded: Substring, _ asked: Substring) -> Bool {
    if recorded == asked { return true }
    guard let equals = recorded.firstIndex(of: "=") else {
      return HTTPPlaceholders.isPlaceholder(recorded) && !asked.contains("=")
    }
    return HTTPPlaceholders.isPlaceholder(recorded[recorded.index(after: equals)...])
      && asked.hasPrefix(recorded[...equals])
  }
}
