import HTTPTypes

/// The links of a reply: `Link: <https://…?page=2>; rel="next", <…>; rel="last"` (RFC 8288).
struct LinkHeader {
  private var links: [(target: String, relations: [Substring])] = []

  init(_ reply: HTTPReply) {
    guard let name = HTTPField.Name("Link") else { return }
    for value in reply.response.headerFields[values: name] { read(value[...]) }
  }

  /// The target of the first link with the relation, compared without regard to case.
  func target(of relation: String) -> String? {
    links.first { $0.relations.contains { $0.lowercased() == relation.lowercased() } }?.target
  }

  private mutating func read(_ text: Substring) {
    var rest = text
    while let open = rest.firstIndex(of: "<"), let close = rest[open...].firstIndex(of: ">") {
      let target = String(rest[rest.index(after: open)..<close])
      let parameters = Self.parameters(in: rest[rest.index(after: close)...])
      links.append((target, Self.relations(in: parameters)))
      rest = rest[parameters.endIndex...]
    }
  }

  /// The parameters of one link.
  private static func parameters(in text: Substring) -> Substring { text.prefix(upTo: ",") }

  private static func relations(in parameters: Substring) -> [Substring] {
    var rest = parameters.drop { $0 != ";" }.dropFirst()
    while !rest.isEmpty {
      let parameter = rest.prefix(upTo: ";")
      rest = rest[parameter.endIndex...].dropFirst()
      let parts = parameter.split(separator: "=", maxSplits: 1)
      guard parts.count == 2, parts[0].trimmed.lowercased() == "rel" else { continue }
      return parts[1].trimmed.split { $0 == "\"" || $0 == " " }
    }
    return []
  }
}

extension Substring {
  /// The text before the first separator outside of quotation marks. A backslash in quotation marks escapes a character.
  fileprivate func prefix(upTo separator: Character) -> Substring {
    var isQuoted = false
    var isEscaped = false
    return prefix { character in
      if isEscaped {
        isEscaped = false
        return true
      }
      isEscaped = isQuoted && character == "\\"
      if character == "\"" { isQuoted.toggle() }
      return character != separator || isQuoted
    }
  }

  fileprivate var trimmed: Substring {
    let start = drop { $0 == " " || $0 == "\t" }
    guard let last = start.lastIndex(where: { $0 != " " && $0 != "\t" }) else { return start.prefix(0) }
    return start[...last]
  }
}
