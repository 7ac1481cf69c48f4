/// The pattern of a `like` comparison: `*` stands for any characters, `?` for one, and a backslash
/// makes the next character stand for itself.
package struct SQLTextPattern: Sendable {
  package enum Part: Sendable {
    case character(Unicode.Scalar)
    /// Stands for any one character.
    case one
    /// Stands for any characters, or none.
    case any
  }
  package private(set) var parts: [Part] = []

  package init(_ pattern: String) {
    var isEscaped = false
    for scalar in pattern.unicodeScalars {
      switch scalar {
      case "\\" where !isEscaped:
        isEscaped = true
        continue
      case "*" where !isEscaped: parts.append(.any)
      case "?" where !isEscaped: parts.append(.one)
      default: parts.append(.character(scalar))
      }
      isEscaped = false
    }
    // A backslash at the end stands for itself.
    if isEscaped { parts.append(.character("\\")) }
  }

  /// Whether a part stands for any one character.
  var countsLetters: Bool { parts.contains { if case .one = $0 { true } else { false } } }

  /// The pattern in another notation.
  package func text(one: String, any: String, character: (Unicode.Scalar) -> String) -> String {
    parts.reduce(into: "") { text, part in
      switch part {
      case .one: text += one
      case .any: text += any
      case .character(let scalar): text += character(scalar)
      }
    }
  }
}
