/// Builds the text of a file of XML in the form of Xcode: four spaces for each level, attributes in double quotes.
struct XMLText {
  private(set) var text = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n"
  private var depth = 0

  /// The attributes of an element in order; attributes without a value are left out.
  typealias Attributes = [(name: String, value: String?)]

  /// Adds an element with its contents. The attributes in `others` follow, sorted by name; an attribute with a value in
  /// the list precedes one of its name in `others`.
  mutating func element(
    _ name: String, _ attributes: Attributes, others: [String: String] = [:], text content: String = "",
    isEmpty: Bool = false, contents: (inout XMLText) -> Void = { _ in }
  ) {
    indent()
    text += "<\(name)"
    for case let (name, value?) in attributes { add(name, value) }
    for (name, value) in others.sorted(by: { $0.key < $1.key })
    where !attributes.contains(where: { $0.name == name && $0.value != nil }) {
      add(name, value)
    }
    guard !isEmpty else {
      text += "/>\n"
      return
    }
    text += ">" + (content.isEmpty ? "\n" : Self.escaped(content))
    depth += 1
    contents(&self)
    depth -= 1
    if content.isEmpty { indent() }
    text += "</\(name)>\n"
  }

  /// Adds an element that the framework does not interpret, as it was read.
  mutating func markup(_ markup: ModelFile.Markup) {
    let ordered = Self.order.map { (name: $0, value: markup.attributes[$0]) }
    let others = markup.attributes.filter { !Self.order.contains($0.key) }
    element(
      markup.name, ordered, others: others, text: markup.text,
      isEmpty: markup.children.isEmpty && markup.text.isEmpty
    ) { text in
      for child in markup.children { text.markup(child) }
    }
  }

  /// The order in which Xcode writes the attributes of an entity's position in the editor.
  private static let order = ["name", "positionX", "positionY", "width", "height"]

  private mutating func indent() { text += String(repeating: "    ", count: depth) }

  private mutating func add(_ name: String, _ value: String) { text += " \(name)=\"\(Self.escaped(value))\"" }

  private static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "\n", "\r", "\t": result += "&#\(scalar.value);"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
