import CoherenceCore

/// Reads and writes the expressions of derived attributes.
enum DerivationText {
  /// The rule of an expression such as `canonical:(name)` or `now()`; `nil` for an expression without a counterpart.
  static func derivation(_ text: String) -> Derivation? {
    let text = text.filter { !$0.isWhitespace }
    if text == "now()" { return .now }
    guard let open = text.firstIndex(of: "("), text.last == ")" else { return nil }
    let source = String(text[text.index(after: open)...].dropLast())
    guard !source.isEmpty, source.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "_" }) else { return nil }
    return switch text[..<open] {
    case "canonical:": .canonical(source)
    case "lowercase:": .lowercase(source)
    case "uppercase:": .uppercase(source)
    default: nil
    }
  }

  static func text(_ derivation: Derivation) -> String {
    switch derivation {
    case .canonical(let source): "canonical:(\(source))"
    case .lowercase(let source): "lowercase:(\(source))"
    case .uppercase(let source): "uppercase:(\(source))"
    case .now: "now()"
    }
  }
}
