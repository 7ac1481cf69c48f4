/// The part of a symbol graph that a baseline contains.
struct SymbolGraph: Decodable {
  struct Symbol: Decodable {
    struct Identifier: Decodable { let precise: String }
    struct Fragment: Decodable { let spelling: String }

    let identifier: Identifier
    let pathComponents: [String]
    let declarationFragments: [Fragment]?
    let accessLevel: String

    var path: String { pathComponents.joined(separator: ".") }
    /// The declaration on one line.
    var declaration: String {
      let text = (declarationFragments ?? []).map(\.spelling).joined()
      return text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }
  }

  struct Relationship: Decodable {
    let kind: String
    let source: String
    let target: String
    /// The name of a target in another module.
    let targetFallback: String?
  }

  let symbols: [Symbol]
  let relationships: [Relationship]

  /// The lines of a baseline: a line for each public declaration, and a line for each conformance and superclass.
  func lines(names: [String: String]) -> [String] {
    let declarations = symbols.filter { ["public", "open"].contains($0.accessLevel) }.map { symbol in
      let level = symbol.accessLevel == "open" ? "open " : ""
      return "\(symbol.path)  \(level)\(symbol.declaration)"
    }
    let parents = relationships.filter { ["conformsTo", "inheritsFrom"].contains($0.kind) }
      .compactMap { relationship -> String? in
        guard let source = names[relationship.source],
          let target = names[relationship.target] ?? relationship.targetFallback.map(Self.unqualified),
          !Self.impliedProtocols.contains(target)
        else { return nil }
        return "\(source)  : \(target)"
      }
    return declarations + parents
  }

  /// The name without its module.
  private static func unqualified(_ name: String) -> String {
    name.contains(".") ? name.split(separator: ".").dropFirst().joined(separator: ".") : name
  }

  /// The protocols to which the compiler conforms nearly every type; a baseline omits them.
  private static let impliedProtocols: Set<String> = ["Copyable", "Escapable", "SendableMetatype"]
}
