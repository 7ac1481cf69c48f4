/// Reads the attributes of an element and keeps the unread ones, which the reader of a model reports.
struct ElementReader {
  let node: XMLNode
  private let path: String
  /// The attributes that no call has read yet.
  private(set) var unreadAttributes: [String: String]

  init(_ node: XMLNode, path: String) {
    self.node = node
    self.path = path
    unreadAttributes = node.attributes
  }

  mutating func text(_ name: String) -> String? { unreadAttributes.removeValue(forKey: name) }

  /// The text of an attribute; `nil` for an empty text.
  mutating func nonEmptyText(_ name: String) -> String? { text(name).flatMap { $0.isEmpty ? nil : $0 } }

  mutating func required(_ name: String) throws(XMLFault) -> String {
    guard let value = nonEmptyText(name) else { throw fault("the attribute '\(name)' is missing or empty") }
    return value
  }

  /// A flag, `YES` or `NO`.
  mutating func flag(_ name: String) throws(XMLFault) -> Bool? {
    switch text(name) {
    case nil: return nil
    case "YES": return true
    case "NO": return false
    default: throw fault("the attribute '\(name)' is neither YES nor NO")
    }
  }

  mutating func count(_ name: String) throws(XMLFault) -> Int? {
    guard let text = text(name) else { return nil }
    guard let number = Int(text), number >= 0 else {
      throw fault("the attribute '\(name)' is not a number of members or records")
    }
    return number
  }

  func fault(_ reason: String) -> XMLFault {
    XMLFault(reason, path: path, line: node.line, element: node.title)
  }
}
