package import CoherenceCore

/// Reads and writes the expressions of derived attributes.
package enum DerivationText {
  /// The rule of an expression such as `canonical:(name)`, `now()` or `tracks.@count`; `nil` for an expression without
  /// a counterpart.
  package static func derivation(_ text: String) -> Derivation? {
    let text = text.filter { !$0.isWhitespace }
    if text == "now()" { return .now }
    if !text.contains("(") { return related(text) }
    guard let open = text.firstIndex(of: "("), text.last == ")" else { return nil }
    let source = String(text[text.index(after: open)...].dropLast())
    // A full stop separates a composite from its part.
    let names = source.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard names.allSatisfy({ !$0.hasPrefix("@") && isName($0) }) else { return nil }
    return switch text[..<open] {
    case "canonical:": .canonical(source)
    case "lowercase:": .lowercase(source)
    case "uppercase:": .uppercase(source)
    default: nil
    }
  }

  /// The rule of a path over relationships, in which the function of the members comes last or after the relationship.
  private static func related(_ text: String) -> Derivation? {
    var names = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    let functions = names.filter { $0.hasPrefix("@") }
    guard names.count > 1, functions.count < 2, names.allSatisfy(isName) else { return nil }
    guard let function = functions.first else { return .path(text) }
    guard names.last == function || names.dropFirst().first == function else { return nil }
    names.removeAll { $0 == function }
    let path = names.joined(separator: ".")
    return switch (function, names.count) {
    case ("@count", 1): .count(path)
    case ("@sum", 2...): .sum(path)
    case ("@min", 2...): .minimum(path)
    case ("@max", 2...): .maximum(path)
    case ("@avg", 2...): .average(path)
    default: nil
    }
  }

  private static func isName(_ text: String) -> Bool {
    let name = text.hasPrefix("@") ? text.dropFirst() : text[...]
    return !name.isEmpty && name.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
  }

  /// The text of a rule; `nil` for a rule that has no place in a file.
  static func text(_ derivation: Derivation) -> String? {
    switch derivation {
    case .canonical(let source): "canonical:(\(source))"
    case .lowercase(let source): "lowercase:(\(source))"
    case .uppercase(let source): "uppercase:(\(source))"
    case .now: "now()"
    case .author: nil
    case .path(let path): path
    case .count(let path): "\(path).@count"
    case .sum(let path): "\(path).@sum"
    case .minimum(let path): "\(path).@min"
    case .maximum(let path): "\(path).@max"
    case .average(let path): "\(path).@avg"
    }
  }
}
