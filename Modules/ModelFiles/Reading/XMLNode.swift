/// An element of a file of XML, with its line.
final class XMLNode {
  let name: String
  let attributes: [String: String]
  let line: Int
  fileprivate(set) var children: [XMLNode] = []
  fileprivate(set) var text = ""

  init(_ name: String, attributes: [String: String], line: Int) {
    self.name = name
    self.attributes = attributes
    self.line = line
  }

  func append(_ child: XMLNode) { children.append(child) }
  func append(_ characters: String) { text += characters }

  /// The element as messages name it: `<attribute name="title">`.
  var title: String {
    guard let own = attributes["name"], own.utf8.count <= 200 else { return "<\(name)>" }
    return "<\(name) name=\"\(own)\">"
  }
}
